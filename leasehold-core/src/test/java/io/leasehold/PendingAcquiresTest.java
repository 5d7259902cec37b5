package io.leasehold;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Waiting asynchronously holds no thread, however many wait. */
@Tag("quick")
final class PendingAcquiresTest {

    private static final int WAITERS = 10_000;

    @Test
    void tenThousandPendingAcquiresAddAtMostFiveThreads() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (LockClient locks = Leasehold.connect("memory:")) {
            DistributedLock lock = locks.named("crowded");
            List<CompletableFuture<Lease>> waiting = new ArrayList<>(WAITERS);
            try (Lease held = lock.acquire()) {
                for (int i = 0; i < WAITERS; i++) {
                    waiting.add(lock.acquireAsync());
                }
                assertThat(held.isValid()).isTrue();
                assertThat(newThreads(before)).hasSizeLessThanOrEqualTo(5);
            }
            Lease first = waiting.get(0).get(1, TimeUnit.MINUTES);
            waiting.subList(1, WAITERS).forEach(future -> future.cancel(false));
            first.release();
            assertThat(lock.tryAcquire(Duration.ofMinutes(1)))
                    .as("ten thousand waiters that were cancelled leave the lock free")
                    .isNotNull()
                    .satisfies(lease -> assertThat(lease.fencingToken()).isGreaterThan(first.fencingToken()));
        }
    }

    private static List<Thread> newThreads(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !before.contains(thread))
                .toList();
    }
}
