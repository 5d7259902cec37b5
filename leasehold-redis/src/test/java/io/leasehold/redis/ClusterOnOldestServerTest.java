package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a Cluster of the oldest supported servers, which have no sharded channels: waiters are woken over plain
 * channels.
 */
@Timeout(120)
@Tag("full")
final class ClusterOnOldestServerTest {

    private static final int LOCKS = 12;

    @Test
    void waitersAreWokenWhicheverMasterHasTheLock() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node.binary(BundledBinaries.oldestServer()));
                TopologyBench bench = new TopologyBench()) {
            RedisServer any = cluster.nodes().get(0);
            assertThat(any.version().isAtLeast(7, 0)).isFalse();
            LockClient client = bench.client(cluster.uri());
            LockClient other = bench.client(cluster.uri());
            List<Lease> held = new ArrayList<>();
            List<CompletableFuture<Lease>> waiting = new ArrayList<>();
            for (int i = 0; i < LOCKS; i++) {
                held.add(patient(client, i).acquire());
            }
            for (int i = 0; i < LOCKS; i++) {
                waiting.add(patient(other, i).acquireAsync());
            }
            assertThat(cluster.nodes().stream()
                            .filter(node -> !node.call("KEYS", "lock:{*}").isBlank()))
                    .as("masters that have some of them")
                    .hasSizeGreaterThan(1);
            until("all wait", () -> waiters(cluster) == LOCKS);
            assertThat(cluster.nodes().stream()
                            .map(node -> node.call("PUBSUB", "CHANNELS", "lock:wake:*"))
                            .filter(channels -> !channels.isBlank()))
                    .as("one plain channel at one node")
                    .singleElement()
                    .satisfies(channel -> assertThat(channel).endsWith("~"));
            held.forEach(Lease::close);
            for (CompletableFuture<Lease> one : waiting) {
                // No waiter retries within ten minutes.
                one.get(60, TimeUnit.SECONDS).close();
            }
            nothingIsHeld(cluster.nodes());
        }
    }

    private static DistributedLock patient(LockClient client, int number) {
        return client.named("plain:" + number)
                .with(o -> o.ttl(Duration.ofMinutes(10)).recheck(Duration.ofMinutes(10)));
    }

    private static long waiters(RedisCluster cluster) {
        return cluster.nodes().stream()
                .flatMap(node -> node.call("KEYS", "*:queued").lines())
                .filter(key -> !key.isBlank())
                .count();
    }
}
