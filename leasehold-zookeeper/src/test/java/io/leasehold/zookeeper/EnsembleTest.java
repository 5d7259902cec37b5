package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingCluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three members, of which some are killed. */
@Tag("full")
class EnsembleTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private TestingCluster cluster;
    private final List<LockClient> clients = new ArrayList<>();

    @BeforeEach
    void start() throws Exception {
        cluster = new TestingCluster(Ensemble.member(), Ensemble.member(), Ensemble.member());
        cluster.start();
    }

    @AfterEach
    void stop() throws Exception {
        clients.forEach(LockClient::close);
        cluster.close();
    }

    private LockClient client(Duration ttl) {
        LockOptions options = LockOptions.defaults()
                .ttl(ttl)
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        LockClient client = Leasehold.builder()
                .store(Ensemble.uri(cluster.getConnectString(), ""))
                .defaults(options)
                .connect();
        clients.add(client);
        return client;
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(5_000_000);
        }
    }

    private CompletableFuture<Void> restart(InstanceSpec member) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        cluster.restartServer(member);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                },
                task -> new Thread(task, "restart").start());
    }

    private static boolean renews(Lease lease) {
        try {
            lease.renew();
            return true;
        } catch (StoreUnavailableException e) {
            return false;
        }
    }

    @Test
    void leaseAndWaiterOutliveEachMember() throws Exception {
        LockClient holder = client(Duration.ofSeconds(30));
        LockClient other = client(Duration.ofSeconds(30));
        Lease lease = holder.named("member").acquire();
        CompletableFuture<Lease> waiter = other.named("member").acquireAsync();
        // Each member is killed once, including the leader and the members of holder and waiter; the sessions move.
        for (InstanceSpec member : List.copyOf(cluster.getInstances())) {
            cluster.killServer(member);
            until(() -> renews(lease));
            assertThat(lease.isValid()).isTrue();
            cluster.restartServer(member);
            until(() -> renews(lease));
        }
        assertThat(waiter).isNotDone();
        lease.release();
        try (Lease next = waiter.get(90, TimeUnit.SECONDS)) {
            assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
        }
    }

    @Test
    void leaseOutlivesARestartOfAllMembers() throws Exception {
        Lease lease = client(Duration.ofMinutes(2)).named("restarted").acquire();
        List<InstanceSpec> members = List.copyOf(cluster.getInstances());
        for (InstanceSpec member : members) {
            cluster.killServer(member);
        }
        // All at once: a single member would wait for a majority.
        CompletableFuture.allOf(members.stream().map(this::restart).toArray(CompletableFuture[]::new))
                .get(90, TimeUnit.SECONDS);
        until(() -> renews(lease));
        assertThat(lease.isValid()).isTrue();
        try (LockClient other = client(Duration.ofMinutes(2))) {
            assertThat(other.named("restarted").tryAcquire(Duration.ZERO)).isNull();
            lease.release();
            assertThat(other.named("restarted").acquire().fencingToken()).isGreaterThan(lease.fencingToken());
        }
    }

    @Test
    void withoutAQuorumALeaseEndsInTimeAndIsAtRiskBefore() throws Exception {
        Lease lease = client(Duration.ofSeconds(5)).named("quorum").acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        AtomicReference<Duration> atRisk = new AtomicReference<>();
        lease.onAtRisk(atRisk::set);
        lease.onLost(told::set);
        List<InstanceSpec> members = List.copyOf(cluster.getInstances());
        long start = System.nanoTime();
        cluster.killServer(members.get(0));
        cluster.killServer(members.get(1));
        until(() -> told.get() != null);
        assertThat(told).hasValue(LossCause.EXPIRED);
        assertThat(atRisk.get()).as("told at risk before").isNotNull();
        assertThat(System.nanoTime() - start).isLessThan(Duration.ofSeconds(20).toNanos());
        cluster.restartServer(members.get(0));
        cluster.restartServer(members.get(1));
        until(() -> {
            try (Lease next = client(Duration.ofSeconds(10)).named("quorum").tryAcquire(Duration.ofSeconds(20))) {
                return next != null && next.fencingToken() > lease.fencingToken();
            } catch (StoreUnavailableException e) {
                return false;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }
}
