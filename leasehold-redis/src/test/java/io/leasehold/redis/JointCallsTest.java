package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that requests of many threads are sent as one script where possible. */
@Tag("quick")
@Timeout(60)
class JointCallsTest {

    private static final int THREADS = 16;
    private static final int PAIRS = 500;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    @Test
    void manyThreadsAskTogetherAndEachGetsItsOwnAnswer() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (LockClient locks = Leasehold.connect(SERVER.server().uri())) {
            SERVER.redis().configResetstat();
            List<Callable<Void>> all = new ArrayList<>();
            for (int thread = 0; thread < THREADS; thread++) {
                String name = "order:" + thread;
                all.add(() -> {
                    long token = 0;
                    for (int i = 0; i < PAIRS; i++) {
                        try (Lease lease = locks.named(name).acquire()) {
                            assertThat(lease.fencingToken()).isGreaterThan(token);
                            token = lease.fencingToken();
                        }
                    }
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(all)) {
                done.get(60, TimeUnit.SECONDS);
            }
            assertThat(CommandCounts.of(SERVER.server()).of("evalsha"))
                    .as("scripts, where each request alone would be %s", 2 * THREADS * PAIRS)
                    .isLessThan(THREADS * PAIRS);
        } finally {
            threads.shutdownNow();
        }
    }
}
