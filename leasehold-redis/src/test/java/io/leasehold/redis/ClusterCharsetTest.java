package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.testkit.process.ChildJvm;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that names outside ASCII go to the server of their slot with any charset of the JVM. */
@Tag("full")
@Timeout(180)
final class ClusterCharsetTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @Test
    void theSlotOfANameIsThatOfItsUtf8() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node);
                ChildJvm child = ChildJvm.of(SlotMain.class)
                        .property("file.encoding", "ISO-8859-1")
                        .arguments(cluster.uri())
                        .start()) {
            child.awaitLine("done", PATIENCE);
            assertThat(child.lines()).contains("charset ISO-8859-1");
            for (RedisServer node : cluster.nodes()) {
                assertThat(node.call("INFO", "errorstats"))
                        .as("no master was asked for a key of another one")
                        .doesNotContain("MOVED");
            }
        }
    }
}
