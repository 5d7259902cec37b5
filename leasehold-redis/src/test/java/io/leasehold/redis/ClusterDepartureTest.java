package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of a node that leaves its Cluster and keeps running. */
@Tag("full")
@Timeout(180)
final class ClusterDepartureTest {

    /**
     * Without sharded channels, one plain channel at any node is enough, as long as the node belongs to the Cluster.
     */
    @Test
    void thePlainChannelOfAnOldServerIsListenedToAtAMember() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, node -> node.binary(BundledBinaries.oldestServer()));
                LockClient holder = Leasehold.connect(cluster.uri());
                LockClient waiting = Leasehold.connect(cluster.uri())) {
            Lease first = patient(holder, "first").acquire();
            CompletableFuture<Lease> firstWaiter = patient(waiting, "first").acquireAsync();
            until("it listens", () -> listenedTo(cluster).isPresent());
            first.close();
            firstWaiter.get(60, TimeUnit.SECONDS).close();
            RedisServer leaving = listenedTo(cluster).orElseThrow();

            leave(cluster, leaving);

            until(
                    "it listens elsewhere",
                    () -> listenedTo(cluster).filter(node -> node != leaving).isPresent());
            String name = IntStream.range(0, 100)
                    .mapToObj(i -> "after:" + i)
                    .filter(one -> cluster.masterOf(Integer.parseInt(
                                    cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", "lock:{" + one + "}")))
                            != leaving)
                    .findFirst()
                    .orElseThrow();
            Lease lease = patient(holder, name).acquire();
            CompletableFuture<Lease> waiter = patient(waiting, name).acquireAsync();
            until(
                    "it waits",
                    () -> cluster.nodes().stream()
                            .anyMatch(node -> !node.call("KEYS", "*:queued").isBlank()));
            lease.close();
            // No waiter retries within ten minutes.
            assertThat(waiter.get(60, TimeUnit.SECONDS).isValid()).isTrue();
        }
    }

    private static DistributedLock patient(LockClient client, String name) {
        return client.named(name).with(o -> o.ttl(Duration.ofMinutes(10)).recheck(Duration.ofMinutes(10)));
    }

    private static Optional<RedisServer> listenedTo(RedisCluster cluster) {
        return cluster.nodes().stream()
                .filter(node -> !node.call("PUBSUB", "CHANNELS", "lock:wake:*").isBlank())
                .findFirst();
    }

    /** Moves its slots, whose keys no longer matter, to another master. */
    private static void leave(RedisCluster cluster, RedisServer leaving) {
        List<RedisServer> others =
                cluster.nodes().stream().filter(node -> node != leaving).toList();
        String[] slots = IntStream.range(0, 16_384)
                .filter(slot -> cluster.masterOf(slot) == leaving)
                .mapToObj(Integer::toString)
                .toArray(String[]::new);
        leaving.call("FLUSHALL");
        leaving.call(command("DELSLOTS", slots));
        others.forEach(node -> node.call(command("DELSLOTS", slots)));
        others.get(0).call(command("ADDSLOTS", slots));
        String id = leaving.call("CLUSTER", "MYID");
        others.forEach(node -> node.call("CLUSTER", "FORGET", id));
        leaving.call("CLUSTER", "RESET", "SOFT");
        for (RedisServer node : others) {
            until("the Cluster is whole", () -> node.call("CLUSTER", "INFO").contains("cluster_slots_ok:16384"));
        }
    }

    private static String[] command(String what, String[] slots) {
        return Stream.concat(Stream.of("CLUSTER", what), Stream.of(slots)).toArray(String[]::new);
    }
}
