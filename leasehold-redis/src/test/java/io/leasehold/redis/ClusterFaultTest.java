package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.heldOrReported;
import static io.leasehold.redis.TopologyBench.nothingIsHeld;
import static io.leasehold.redis.TopologyBench.obtainsSoon;
import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.Permit;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/** Tests of slots that move under held and awaited locks, and of replaced masters. */
@Timeout(180)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Tag("full")
final class ClusterFaultTest {

    private static RedisCluster cluster;
    private TopologyBench bench;

    @BeforeAll
    static void start() {
        cluster = Groups.cluster(1, node -> node);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @BeforeEach
    void open() {
        bench = new TopologyBench();
    }

    @AfterEach
    void close() {
        bench.close();
    }

    private static List<RedisServer> masters() {
        return cluster.nodes().subList(0, 3);
    }

    private static String lockKey(String name) {
        return "lock:{" + name + "}";
    }

    private static int slot(String name) {
        return Integer.parseInt(cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", lockKey(name)));
    }

    @Test
    @Order(1)
    void aLockWhoseSlotHasMovedIsFollowed() throws InterruptedException {
        String name = "moved";
        LockClient client = bench.client(cluster.uri());
        Lease held = client.named(name).acquire();
        SlotMove move = SlotMove.of(cluster, lockKey(name));

        move.begin();
        move.end();

        held.renew();
        assertThat(held.isValid()).isTrue();
        assertThat(move.to().call("EXISTS", lockKey(name))).isEqualTo("1");
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        bench.obtainsSoon(cluster.uri(), client, name);
        move.undo();
        obtainsSoon(client, name);
        nothingIsHeld(masters());
    }

    @Test
    @Order(2)
    void whileASlotMovesLeasesAreRenewedAndReleasedAndAcquiresWaitForIt() throws InterruptedException {
        String name = "moving";
        LockClient client = bench.client(cluster.uri());
        LockClient other = bench.client(cluster.uri());
        Lease held = client.named(name).acquire();
        CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
        until(
                "it waits",
                () -> cluster.masterOf(slot(name))
                        .call("EXISTS", lockKey(name) + ":queued")
                        .equals("1"));
        SlotMove move = SlotMove.of(cluster, lockKey(name));
        move.begin();
        move.carry(2);

        held.renew();
        assertThatThrownBy(() -> bench.client(cluster.uri()).named(name).tryAcquire(Duration.ofMillis(400)))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("resharding");
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(waiting).isNotDone();

        move.end();
        try (Lease next = waiting.orTimeout(60, TimeUnit.SECONDS).join()) {
            assertThat(next.isValid()).isTrue();
        }
        bench.obtainsSoon(cluster.uri(), client, name);
        move.undo();
        nothingIsHeld(masters());
    }

    @Test
    @Order(2)
    void whileASlotMovesPermitsAreRenewedAndReleasedAndServedAfterwards() throws InterruptedException {
        LockClient client = bench.client(cluster.uri());
        Permit held = client.permits("pool", 1).acquire();
        CompletableFuture<Permit> waiting =
                bench.client(cluster.uri()).permits("pool", 1).acquireAsync();
        until(
                "it waits",
                () -> cluster.masterOf(slot("pool"))
                        .call("EXISTS", "permits:{pool}:queued")
                        .equals("1"));
        SlotMove move = SlotMove.of(cluster, lockKey("pool"));
        move.begin();
        move.carry(1);

        held.renew();
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(waiting).isNotDone();

        move.end();
        try (Permit next = waiting.orTimeout(60, TimeUnit.SECONDS).join()) {
            assertThat(next.slot()).isZero();
            assertThat(next.isValid()).isTrue();
        }
        move.undo();
    }

    @Test
    @Order(3)
    void waitersAreWokenWhereTheSlotIsNow() throws InterruptedException {
        String name = "woken";
        LockClient client = bench.client(cluster.uri());
        LockClient other = bench.client(cluster.uri());
        Lease held = client.named(name).acquire();
        CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
        SlotMove move = SlotMove.of(cluster, lockKey(name));
        until(
                "it is subscribed",
                () -> !move.from().call("PUBSUB", "SHARDCHANNELS").isEmpty());

        move.begin();
        move.end();

        until(
                "it is subscribed at the new master",
                () -> !move.to().call("PUBSUB", "SHARDCHANNELS").isEmpty());
        held.close();
        waiting.orTimeout(60, TimeUnit.SECONDS).join().close();
        move.undo();
        nothingIsHeld(masters());
    }

    @Test
    @Order(4)
    void oneSubscriptionConnectionServesManyLocksOfAMaster() throws InterruptedException {
        LockClient client = bench.client(cluster.uri());
        LockClient other = bench.client(cluster.uri());
        List<Lease> held = new ArrayList<>();
        List<CompletableFuture<Lease>> waiting = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            held.add(client.named("many:" + i).acquire());
        }
        for (int i = 0; i < 60; i++) {
            waiting.add(other.named("many:" + i).acquireAsync());
        }
        until(
                "all wait",
                () -> cluster.nodes().stream()
                                .limit(3)
                                .mapToLong(node -> node.call("PUBSUB", "SHARDCHANNELS")
                                        .lines()
                                        .filter(line -> line.startsWith("lock:wake:"))
                                        .count())
                                .sum()
                        >= 55);
        for (RedisServer master : cluster.nodes().subList(0, 3)) {
            assertThat(master.call("CLIENT", "LIST", "TYPE", "PUBSUB").lines().count())
                    .isLessThanOrEqualTo(1);
        }
        held.forEach(Lease::close);
        for (CompletableFuture<Lease> one : waiting) {
            one.orTimeout(60, TimeUnit.SECONDS).join().close();
        }
        nothingIsHeld(masters());
    }

    @Test
    @Order(5)
    void severalLocksAreOneScriptOnlyIfOneSlotHasThem() throws InterruptedException {
        LockClient client = bench.client(cluster.uri());
        LockName[] apart = names("a", "b", "c", "d", "e");
        LockName[] together = names("{group}:a", "{group}:b", "{group}:c");
        for (LockName[] names : List.of(apart, together)) {
            try (MultiLease leases =
                    client.all(names).attempt(Duration.ofSeconds(20)).orElseThrow()) {
                leases.renew();
                assertThat(leases.isValid()).isTrue();
            }
        }
        assertThat(slot("{group}:a")).isEqualTo(slot("{group}:b"));
    }

    private static LockName[] names(String... texts) {
        return Stream.of(texts).map(LockName::exactly).toArray(LockName[]::new);
    }

    @Test
    @Order(6)
    void aSingleServerIsNoClusterAndTheReverse() {
        int member = cluster.nodes().get(0).port();
        assertThatThrownBy(() -> bench.client("redis://127.0.0.1:" + member))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("redis-cluster://127.0.0.1:" + member);
        try (RedisServer single = RedisUnderTest.start(b -> b)) {
            assertThatThrownBy(() -> bench.client("redis-cluster://127.0.0.1:" + single.port()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis://127.0.0.1:" + single.port());
        }
    }

    @Test
    @Order(9)
    void aKilledMasterIsReplaced() throws InterruptedException {
        String name = "failover";
        LockClient client = bench.client(cluster.uri());
        Lease held = client.named(name).acquire();
        RedisServer master = cluster.masterOf(slot(name));
        RedisServer replica = cluster.nodes().get(3 + cluster.nodes().indexOf(master));
        until("the replica has it", () -> master.call("WAIT", "1", "1000").equals("1"));

        master.kill();
        until("the replica takes over", () -> replica.call("ROLE").startsWith("master"));
        until("the Cluster serves again", () -> replica.call("CLUSTER", "INFO").contains("cluster_state:ok"));

        bench.obtainsSoon(cluster.uri(), client, "free", "other");
        heldOrReported(held, bench.client(cluster.uri()), name);
        held.close();
        obtainsSoon(client, name);
        nothingIsHeld(List.of(
                replica,
                cluster.nodes().get(0),
                cluster.nodes().get(1),
                cluster.nodes().get(2)));
    }
}
