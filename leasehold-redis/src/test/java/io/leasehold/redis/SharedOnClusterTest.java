package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the clients of one Cluster in one process share the connection to each master. */
@Tag("full")
@Timeout(180)
final class SharedOnClusterTest {

    @Test
    void eachMasterHasOneConnectionForAllClients() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node)) {
            List<Long> before = cluster.nodes().stream()
                    .map(SharedOnClusterTest::connections)
                    .toList();
            try (LockClient first = Leasehold.connect(cluster.uri());
                    LockClient second = Leasehold.connect(cluster.uri());
                    LockClient third = Leasehold.connect(cluster.uri())) {
                for (int i = 0; i < 20; i++) {
                    for (LockClient client : List.of(first, second, third)) {
                        try (Lease lease = client.named("shared:" + i).acquire()) {
                            assertThat(lease.isValid()).isTrue();
                        }
                    }
                }
                until(
                        "each node has one more",
                        () -> added(cluster, before).stream().allMatch(added -> added == 1));
                second.close();
                first.close();
                try (Lease lease = third.named("after").acquire()) {
                    assertThat(lease.isValid()).isTrue();
                }
            }
            until("all end", () -> added(cluster, before).stream().allMatch(added -> added == 0));
        }
    }

    private static List<Long> added(RedisCluster cluster, List<Long> before) {
        return IntStream.range(0, before.size())
                .mapToObj(i -> connections(cluster.nodes().get(i)) - before.get(i))
                .toList();
    }

    /** Without those between the nodes. */
    private static long connections(RedisServer node) {
        return node.call("CLIENT", "LIST", "TYPE", "normal").lines().count();
    }
}
