package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Attempt;
import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockListener.NodeStanding;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests sets whose node is a whole Cluster or a Sentinel group that fails over while the lock is held. */
@Timeout(240)
@Tag("full")
final class RedlockTopologiesTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private static String uri(List<String> nodes) {
        StringBuilder uri = new StringBuilder("redlock:?maxTtl=6s&nodeTimeout=1500ms");
        for (int i = 0; i < nodes.size(); i++) {
            String named = nodes.get(i) + "?name=node-" + (i + 1);
            uri.append("&node=").append(URLEncoder.encode(named, StandardCharsets.UTF_8));
        }
        return uri.toString();
    }

    private LockClient client(String uri, Consumer<LockListener.NodeChanged> ear) {
        LockClient client = Leasehold.builder()
                .store(uri)
                .listener(new LockListener() {
                    @Override
                    public void nodeChanged(NodeChanged event) {
                        ear.accept(event);
                    }
                })
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(6)).recheck(Duration.ofMillis(500)))
                .connect();
        open.add(client);
        return client;
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    @Test
    void threeClusters() throws Exception {
        List<RedisCluster> clusters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            try {
                clusters.add(RedisCluster.start(3, 0, builder -> builder));
                open.add(clusters.get(i));
            } catch (ServerUnavailableException e) {
                abort("no Redis Cluster here: " + e.getMessage());
            }
        }
        String uri = uri(clusters.stream().map(RedisCluster::uri).toList());
        LockClient locks = client(uri, event -> {});
        LockClient rival = client(uri, event -> {});
        assertThat(locks.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.BEST_EFFORT);
        locks.admin().declareNewNodes();
        List<Lease> held = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            held.add(acquired(locks, "in-some-slot-" + i));
            assertThat(rival.named("in-some-slot-" + i).attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
        }
        long keys = clusters.get(0).nodes().stream()
                .filter(node -> node.call("KEYS", "lock:{in-some*}").contains("lock:"))
                .count();
        assertThat(keys).as("masters of one Cluster that keep some of them").isGreaterThan(1);
        // A quorum is enough for a grant; a renewal repairs nodes that were late or have no key.
        NodeBench.until("all have all", () -> {
            held.forEach(Lease::renew);
            return locksAt(clusters) == 36;
        });
        clusters.get(1).nodes().forEach(RedisServer::kill);
        for (int i = 0; i < 12; i++) {
            Lease lease = held.get(i);
            lease.renew();
            assertThat(rival.named("in-some-slot-" + i).attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            try (Lease next = acquired(rival, "in-some-slot-" + i)) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
    }

    /** The number of locks at the masters of these Clusters. */
    private static long locksAt(List<RedisCluster> clusters) {
        return clusters.stream()
                .flatMap(cluster -> cluster.nodes().stream())
                .flatMap(node -> node.call("KEYS", "lock:{in-some*}").lines())
                .filter(key -> key.strip().replace("\"", "").endsWith("}"))
                .count();
    }

    private static Lease acquired(LockClient locks, String name) throws InterruptedException {
        Lease lease = locks.named(name).tryAcquire(PATIENCE);
        assertThat(lease).as(name).isNotNull();
        return lease;
    }

    @Test
    void threeSentinelGroupsOneOfWhichFailsOver() throws Exception {
        List<RedisSentinelGroup> groups = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            try {
                groups.add(RedisSentinelGroup.start(1));
                open.add(groups.get(i));
            } catch (ServerUnavailableException e) {
                abort("no Sentinel group here: " + e.getMessage());
            }
        }
        String uri = uri(groups.stream().map(RedisSentinelGroup::uri).toList());
        List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
        LockClient locks = client(uri, event -> {});
        LockClient rival = client(uri, changes::add);
        locks.admin().declareNewNodes();
        Lease lease = acquired(locks, "held");
        assertThat(rival.named("held").attempt(Duration.ZERO)).isInstanceOf(Attempt.Busy.class);
        RedisServer former = groups.get(1).primary();
        former.kill();
        groups.get(1).awaitPrimaryOtherThan(former);
        until("the new primary is quarantined, and no other client gets the lock", () -> {
            assertThat(busy(rival)).as("two hold").isTrue();
            lease.renew();
            return changes.stream()
                    .anyMatch(event -> event.node().equals("node-2") && event.now() == NodeStanding.QUARANTINED);
        });
        until("it counts again after the quarantine, and the lock is still held", () -> {
            assertThat(busy(rival)).as("two hold").isTrue();
            lease.renew();
            return changes.stream()
                    .anyMatch(event -> event.node().equals("node-2")
                            && event.before() == NodeStanding.QUARANTINED
                            && event.now() == NodeStanding.TRUSTED);
        });
        assertThat(lease.isValid()).isTrue();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        try (Lease next = acquired(rival, "held")) {
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
        }
    }

    /** False if the lock was granted; a missing minority does not make the store unavailable. */
    private static boolean busy(LockClient rival) {
        try {
            return rival.named("held").attempt(Duration.ZERO) instanceof Attempt.Busy;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
