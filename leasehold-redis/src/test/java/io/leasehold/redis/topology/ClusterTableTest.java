package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.WatchedRuntime;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the number of readings of a real Cluster's table. */
@Tag("full")
@Timeout(120)
final class ClusterTableTest {

    private static final long PAUSE_MILLIS = 800;

    /**
     * A change that is reported during a reading is not in its result, so the table is read once more and then not
     * again.
     */
    @Test
    void whatIsWantedDuringAReadingIsReadOnceAfterIt() throws Exception {
        // This is also the interval of the regular readings.
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(10));
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            comesToRest(cluster.nodes());
            for (int round = 1; round <= 2; round++) {
                List<Long> before =
                        cluster.nodes().stream().map(ClusterTableTest::readings).toList();
                cluster.nodes().forEach(node -> node.call("CLIENT", "PAUSE", Long.toString(PAUSE_MILLIS), "ALL"));
                for (int i = 0; i < 10; i++) {
                    topology.look();
                }
                comesToRest(cluster.nodes());
                for (int i = 0; i < before.size(); i++) {
                    assertThat(readings(cluster.nodes().get(i)) - before.get(i))
                            .as("readings at node %s in round %s", i, round)
                            .isEqualTo(2);
                }
            }
        } finally {
            runtime.close();
        }
    }

    /** Another master may have taken over long before the connection counts as dead. */
    @Test
    void eachRequestThatIsNotAnsweredHasTheTableRead() throws Exception {
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(10));
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            comesToRest(cluster.nodes());
            for (int i = 1; i <= 3; i++) {
                long before = total(cluster.nodes());
                topology.unanswered(topology.connected().get(0));
                comesToRest(cluster.nodes());
                assertThat(total(cluster.nodes()) - before)
                        .as("readings, time %s", i)
                        .isEqualTo(cluster.nodes().size());
            }
        } finally {
            runtime.close();
        }
    }

    @Test
    void theEndOfALinkHasTheTableRead() throws Exception {
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(10));
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            comesToRest(cluster.nodes());
            for (int i = 1; i <= 2; i++) {
                RedisServer one = cluster.nodes().get(i);
                RedisServer other = cluster.nodes().get(0);
                long before = readings(other);
                one.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
                until("it was read, time " + i, () -> readings(other) > before);
                comesToRest(cluster.nodes());
            }
        } finally {
            runtime.close();
        }
    }

    @Test
    void itIsReadFromTimeToTimeWithoutASign() throws Exception {
        WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
        // Only the readings: a connection keeps its time limit, however slow the machine.
        long table = TimeUnit.SECONDS.toNanos(10);
        runtime.changing(delay -> delay == table ? TimeUnit.MILLISECONDS.toNanos(500) : delay);
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            long before = readings(cluster.nodes().get(0));
            until("six times", () -> readings(cluster.nodes().get(0)) >= before + 6);
        } finally {
            runtime.close();
        }
    }

    @Test
    void whoWaitsForASubscriptionIsToldOfTheClose() throws Exception {
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(2));
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            WakeUps wakeUps = topology.wakeUps(message -> {});
            cluster.nodes().forEach(RedisServer::freeze);
            try {
                CompletableFuture<Boolean> started = wakeUps.started("lock:{busy}");
                assertThat(started).isNotDone();
                wakeUps.close();
                assertThat(started.get(60, TimeUnit.SECONDS)).isFalse();
            } finally {
                cluster.nodes().forEach(RedisServer::thaw);
            }
        } finally {
            runtime.close();
        }
    }

    /** The former master is silent and closes no connection; the table names the new one. */
    @Test
    void aSubscriptionFollowsTheTable() throws Exception {
        WatchedRuntime runtime = new WatchedRuntime(new SystemLockRuntime(), delay -> true);
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            String key = "lock:{busy}";
            String slot = cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", key);
            RedisServer former = cluster.masterOf(Integer.parseInt(slot));
            List<RedisServer> others =
                    cluster.nodes().stream().filter(node -> node != former).toList();
            RedisServer next = others.get(0);
            assertThat(topology.wakeUps(message -> {}).started(key).get(60, TimeUnit.SECONDS))
                    .isTrue();
            // From now on no ping detects the silence.
            runtime.hurry(TimeUnit.SECONDS.toNanos(5), TimeUnit.MINUTES.toNanos(10));
            former.freeze();
            try {
                String id = next.call("CLUSTER", "MYID");
                others.forEach(node -> node.call("CLUSTER", "SETSLOT", slot, "NODE", id));

                topology.look();

                until(
                        "it listens there",
                        () -> !next.call("PUBSUB", "SHARDCHANNELS").isBlank());
            } finally {
                former.thaw();
            }
        } finally {
            runtime.close();
        }
    }

    /** A slot may be moving to a node without slots; its locks are listed there, too. */
    @Test
    void aNodeToWhichAnAskHasLedIsKeptThoughTheTableDoesNotNameIt() throws Exception {
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(10));
        // No guest is dropped while the clock stands still.
        LockRuntime still = (LockRuntime) Proxy.newProxyInstance(
                ClusterTableTest.class.getClassLoader(),
                new Class<?>[] {LockRuntime.class},
                (proxy, method, arguments) ->
                        method.getName().equals("nanoTime") ? (Object) 0L : method.invoke(runtime, arguments));
        try (RedisCluster cluster = start();
                RedisServer guest = RedisServer.builder()
                        .port(0)
                        .config("cluster-enabled yes")
                        .start();
                ClusterTopology topology = topology(cluster, still)) {
            topology.open().get(60, TimeUnit.SECONDS);
            Link asked = topology.connected().get(0);

            Topology.Detour way = topology.detour("lock:{busy}", asked, "ASK 5 127.0.0.1:" + guest.port())
                    .get(60, TimeUnit.SECONDS);
            assertThat(way.asking()).isTrue();
            topology.look();
            comesToRest(cluster.nodes());

            assertThat(topology.everywhere())
                    .hasSize(cluster.nodes().size() + 1)
                    .contains(way.link());
            assertThat(topology.members().anyMaster().port()).isNotEqualTo(guest.port());
            assertThat(topology.detour("lock:{busy}", asked, "ASK 5 nowhere")).isNull();
            assertThat(topology.detour("lock:{busy}", asked, "ERR no")).isNull();
        } finally {
            runtime.close();
        }
    }

    /** The only answering node knows an earlier epoch and no slots, so the known table stays. */
    @Test
    void aNodeThatForgotItsClusterMakesTheTableNotEmpty() throws Exception {
        WatchedRuntime runtime =
                new WatchedRuntime(new SystemLockRuntime(), delay -> delay < TimeUnit.SECONDS.toNanos(10));
        try (RedisCluster cluster = start();
                ClusterTopology topology = topology(cluster, runtime)) {
            topology.open().get(60, TimeUnit.SECONDS);
            comesToRest(cluster.nodes());
            RedisServer reset = cluster.nodes().get(0);
            List<RedisServer> others =
                    cluster.nodes().subList(1, cluster.nodes().size());
            String master = topology.members().masterOf(16_383);
            others.forEach(RedisServer::freeze);
            try {
                reset.call("CLUSTER", "RESET", "HARD");
                long before = readings(reset);
                topology.look();
                // One reading asks the node at most three times: over its link, as a node of the table, and as a node
                // of the URI.
                until("the first look is over", () -> readings(reset) >= before + 4);
                assertThat(topology.members().masterOf(16_383))
                        .isEqualTo(master)
                        .isNotNull();
                assertThat(topology.members().masterOf(0)).isNotNull();
            } finally {
                others.forEach(RedisServer::thaw);
            }
        } finally {
            runtime.close();
        }
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(TimeUnit.SECONDS.toNanos(60));
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private static ClusterTopology topology(RedisCluster cluster, LockRuntime runtime) {
        Deployment where = Deployment.parse(StoreUri.parse(cluster.uri()));
        return new ClusterTopology(where, LettuceDriver.of(where, new DriverThreads()), where.errors(), runtime);
    }

    /** Waits for longer than the longest pause between readings. */
    private static void comesToRest(List<RedisServer> nodes) {
        long start = System.nanoTime();
        long before = -1;
        for (long now = total(nodes); now != before; now = total(nodes)) {
            assertThat(System.nanoTime() - start).as("rest").isLessThan(TimeUnit.SECONDS.toNanos(60));
            before = now;
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2 * PAUSE_MILLIS));
        }
    }

    private static long total(List<RedisServer> nodes) {
        return nodes.stream().mapToLong(ClusterTableTest::readings).sum();
    }

    private static long readings(RedisServer node) {
        return node.call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_cluster|slots:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*:calls=(\\d+),.*", "$1")))
                .sum();
    }

    private static RedisCluster start() {
        try {
            return RedisCluster.start();
        } catch (ServerUnavailableException e) {
            return abort("no Redis server here: " + e.getMessage());
        }
    }
}
