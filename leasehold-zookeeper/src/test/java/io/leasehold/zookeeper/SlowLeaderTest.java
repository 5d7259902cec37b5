package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.testkit.process.Signal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three members in separate processes, whose leader is slow or stands still. */
@Tag("full")
class SlowLeaderTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @TempDir
    private static Path directory;

    private static ProcessEnsemble ensemble;

    @BeforeAll
    static void start() throws InterruptedException {
        assumeTrue(Signal.areSupported(), "SIGSTOP is needed");
        ensemble = ProcessEnsemble.start(directory);
    }

    @AfterAll
    static void stop() {
        if (ensemble != null) {
            ensemble.close();
        }
    }

    private static LockClient client() {
        LockOptions options = LockOptions.defaults()
                .ttl(Duration.ofSeconds(30))
                .recheck(Duration.ofMillis(250))
                .retry(Backoff.jittered(Duration.ofMillis(5), Duration.ofMillis(50)));
        return Leasehold.builder().store(ensemble.uri()).defaults(options).connect();
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as("not in time").isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(5_000_000);
        }
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
    void aLeaderThatStandsStillAgainAndAgainCostsTimeAndNotTheLease() throws Exception {
        try (LockClient holder = client();
                LockClient other = client();
                Lease lease = holder.named("slow").acquire()) {
            CompletableFuture<Lease> waiter = other.named("slow").acquireAsync();
            for (int i = 0; i < 5; i++) {
                ProcessEnsemble.Server leader = ensemble.leader();
                leader.process().freeze();
                LockSupport.parkNanos(Duration.ofMillis(300).toNanos());
                leader.process().thaw();
                until(() -> renews(lease));
                assertThat(lease.isValid()).isTrue();
            }
            assertThat(waiter).isNotDone();
            lease.release();
            try (Lease next = waiter.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
        }
    }

    @Test
    void aLeaderThatStandsStillForGoodIsReplacedAndTheLeaseGoesOn() throws Exception {
        try (LockClient holder = client();
                LockClient other = client();
                Lease lease = holder.named("stopped").acquire()) {
            CompletableFuture<Lease> waiter = other.named("stopped").acquireAsync();
            ProcessEnsemble.Server leader = ensemble.leader();
            leader.process().freeze();
            try {
                until(() -> renews(lease));
                assertThat(lease.isValid()).isTrue();
                assertThat(waiter).isNotDone();
                lease.release();
                try (Lease next = waiter.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
                }
            } finally {
                leader.process().thaw();
            }
        }
    }
}
