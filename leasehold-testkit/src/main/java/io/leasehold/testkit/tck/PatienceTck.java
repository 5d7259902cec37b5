package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Attempt;
import io.leasehold.Durations;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of patience: how long callers wait, and the answers that they receive. */
public interface PatienceTck extends SharesStore {

    /** Without patience the answer comes after one round trip: the lock, or its holder. */
    @Test
    default void zeroPatienceAsksOnce(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockName name = bench.name("zero");
        Attempt<Lease> first = client.named(name).attempt(Duration.ZERO);
        Lease lease = assertInstanceOf(Attempt.Acquired.class, first).orElseThrow() instanceof Lease l ? l : null;
        assertNotNull(lease);
        Attempt<Lease> second = bench.client().named(name).attempt(Duration.ZERO);
        Attempt.Busy<Lease> busy = assertBusy(second);
        assertEquals(name, busy.lockName());
        Holder holder = busy.holder();
        if (holder != null) {
            assertEquals(client.holderId(), holder.id());
        }
        assertThrows(LockBusyException.class, second::orElseThrow);
        lease.close();
    }

    /** A busy attempt ends when its patience ends, and not before. */
    @Test
    default void attemptWaitsAsLongAsItsPatience(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockName name = bench.name("patience");
        try (Lease lease = client.named(name).acquire()) {
            Duration patience = Duration.ofMillis(700);
            long start = System.nanoTime();
            Attempt.Busy<Lease> busy = assertBusy(bench.client().named(name).attempt(patience));
            long took = System.nanoTime() - start;
            assertTrue(took >= patience.toNanos(), "gave up after " + took / 1_000_000 + " ms");
            assertTrue(busy.waited().compareTo(patience) >= 0, "says that it waited " + busy.waited());
            assertTrue(lease.isValid());
        }
    }

    /** A waiter obtains the lock when the holder releases it, even if it waits without limit. */
    @Test
    default void waitersObtainTheLockAfterRelease(TckBench bench) throws InterruptedException {
        LockName name = bench.name("after");
        Lease held = bench.client().named(name).acquire();
        LockClient unlimited = bench.client();
        LockClient limited = bench.client();
        TaskErrors errors = new TaskErrors();
        List<Thread> waiters = List.of(
                errors.start("unlimited", () -> unlimited.named(name).acquire().close()),
                errors.start("limited", () -> {
                    try (Lease lease = limited.named(name).tryAcquire(TckBench.PATIENCE)) {
                        assertNotNull(lease);
                    }
                }),
                errors.start("saturated", () -> {
                    try (Lease lease = limited.named(name).tryAcquire(Duration.ofSeconds(Long.MAX_VALUE))) {
                        assertNotNull(lease);
                    }
                }));
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(200));
        waiters.forEach(thread -> assertTrue(thread.isAlive()));
        held.release();
        errors.join(waiters);
    }

    /** Negative patience is a mistake of the caller, and is refused with its value. */
    @Test
    default void negativePatienceIsRefused(TckBench bench) {
        LockClient client = bench.client();
        LockName name = bench.name("negative");
        Duration negative = Duration.ofMillis(-7);
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class, () -> client.named(name).tryAcquire(negative));
        assertTrue(String.valueOf(refused.getMessage()).contains(Durations.text(negative)), "which value? " + refused);
        assertThrows(IllegalArgumentException.class, () -> client.named(name).attemptAsync(negative));
        assertFalse(client.admin().inspect(name).isPresent());
    }

    private static Attempt.Busy<Lease> assertBusy(Attempt<Lease> attempt) {
        if (attempt instanceof Attempt.Busy<Lease> busy) {
            return busy;
        }
        throw new AssertionError("the lock was to be busy: " + attempt);
    }
}
