package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** After an interrupted call has thrown, nothing of its attempt counts as a holder any more. */
@Tag("full")
class InterruptedProbesTest {

    private static final int PROBES = 200;

    private static TestingServer server;

    @BeforeAll
    static void start() {
        server = Ensemble.single();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    private static String uri() {
        return Ensemble.uri(server.getConnectString(), "&sessionTimeout=15m");
    }

    private static LockClient client() {
        // Far longer than a loaded machine needs for three round trips.
        LockOptions patient = LockOptions.defaults().ttl(Duration.ofMinutes(2)).nodeTimeout(Duration.ofSeconds(20));
        return Leasehold.builder().store(uri()).defaults(patient).connect();
    }

    /** Returns whether the call was interrupted, and did not acquire before. */
    private static boolean interrupted(LockClient locks, String name, long afterNanos) throws Exception {
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try (Lease lease = locks.named(name).acquire()) {
                ended.complete(lease == null);
            } catch (InterruptedException e) {
                ended.complete(true);
            } catch (Throwable e) {
                ended.completeExceptionally(e);
            }
        });
        caller.start();
        LockSupport.parkNanos(afterNanos);
        caller.interrupt();
        boolean answer = ended.get(60, TimeUnit.SECONDS);
        caller.join();
        return answer;
    }

    @Test
    void noneOfTwoHundredFindsTheLockTaken() throws Exception {
        int asked = 0;
        int busy = 0;
        try (LockClient locks = client();
                LockClient other = client()) {
            for (int probe = 0; probe < PROBES; probe++) {
                String name = "probe-" + probe;
                if (!interrupted(locks, name, 200_000L * (probe % 40))) {
                    continue;
                }
                asked++;
                Lease found = other.named(name).tryAcquire(Duration.ZERO);
                if (found == null) {
                    busy++;
                } else {
                    found.close();
                }
            }
        }
        System.out.println(
                "interrupted probes: " + asked + " interrupted of " + PROBES + ", " + busy + " answered busy");
        assertThat(asked).isGreaterThan(PROBES / 20);
        assertThat(busy).isZero();
    }
}
