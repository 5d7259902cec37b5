package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Tests of abandoned attempts: after an interrupt, a cancellation or a close of the client, nothing is left behind. */
public interface GivingUpTck extends SharesStore {

    /** An interrupted waiting thread throws at once, and never gets the lock afterwards. */
    @Test
    default void interruptedWaiterLeavesNothing(TckBench bench) throws InterruptedException {
        LockName name = bench.name("interrupted");
        Lease held = bench.client().named(name).acquire();
        LockClient waiting = bench.client();
        CountDownLatch begun = new CountDownLatch(1);
        TaskErrors errors = new TaskErrors();
        Thread waiter = errors.start("waiter", () -> {
            begun.countDown();
            assertThrows(InterruptedException.class, () -> waiting.named(name).acquire());
            assertFalse(Thread.currentThread().isInterrupted());
        });
        begun.await();
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(100));
        waiter.interrupt();
        errors.join(List.of(waiter));
        held.release();
        isFree(bench, name);
    }

    /** A thread whose interrupt flag is set does not acquire, not even a free lock. */
    @Test
    default void interruptFlagIsSeenBeforeAcquiring(TckBench bench) {
        LockName name = bench.name("flag");
        LockClient client = bench.client();
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> client.named(name).acquire());
        assertFalse(Thread.currentThread().isInterrupted());
        assertFalse(client.admin().inspect(name).isPresent());
    }

    /** Cancelling a waiting future, or a stage derived from it, withdraws the attempt. */
    @Test
    default void cancelledWaiterLeavesNothing(TckBench bench) throws InterruptedException {
        LockName name = bench.name("cancelled");
        Lease held = bench.client().named(name).acquire();
        LockClient waiting = bench.client();
        CompletableFuture<Lease> direct = waiting.named(name).acquireAsync();
        CompletableFuture<Long> derived = waiting.named(name).acquireAsync().thenApply(Lease::fencingToken);
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(100));
        assertTrue(direct.cancel(false));
        assertTrue(derived.cancel(false));
        held.release();
        isFree(bench, name);
    }

    /** A grant that arrives while its future is cancelled is released, whichever comes first. */
    @Test
    default void cancellingRacesTheGrant(TckBench bench) {
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        LockName name = bench.name("race");
        for (int i = 0; i < 150; i++) {
            CompletableFuture<Lease> future = client.named(name).acquireAsync();
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_500_000));
            if (!future.cancel(false)) {
                TckBench.join(future).release();
            }
        }
        isFree(bench, name);
    }

    /** An interrupt races the grant: an interrupted thread has nothing, and any other thread has the lock. */
    @Test
    default void interruptRacesTheGrant(TckBench bench) {
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        LockName name = bench.name("interrupt-race");
        TaskErrors errors = new TaskErrors();
        for (int i = 0; i < 100; i++) {
            Thread acquirer = errors.start("acquirer-" + i, () -> {
                try {
                    client.named(name).acquire().release();
                } catch (InterruptedException e) {
                    return;
                }
            });
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_500_000));
            acquirer.interrupt();
            errors.join(List.of(acquirer));
        }
        isFree(bench, name);
    }

    /** Closing a client ends its waiting attempts with an error, releases its holds, and reports the cause. */
    @Test
    default void closingTheClientLeavesNothing(TckBench bench) throws InterruptedException {
        LockName held = bench.name("closed-held");
        LockName wanted = bench.name("closed-wanted");
        Lease obstacle = bench.client().named(wanted).acquire();
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        Lease lease = client.named(held).acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        lease.onLost(told::set);
        CompletableFuture<HoldEnd> ended = lease.whenEnded().toCompletableFuture();
        TaskErrors errors = new TaskErrors();
        CountDownLatch begun = new CountDownLatch(1);
        Thread waiter = errors.start("waiter", () -> {
            begun.countDown();
            assertThrows(IllegalStateException.class, () -> client.named(wanted).acquire());
        });
        begun.await();
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(50));
        client.close();
        errors.join(List.of(waiter));
        assertFalse(lease.isValid());
        TckBench.until("the holder is notified", () -> told.get() == LossCause.CLIENT_CLOSED);
        assertEquals(new HoldEnd.Lost(LossCause.CLIENT_CLOSED), TckBench.join(ended));
        assertThrows(IllegalStateException.class, () -> client.named(held).tryAcquire(Duration.ZERO));
        client.close();
        isFree(bench, held);
        obstacle.release();
        isFree(bench, wanted);
    }

    /** The lock is free and can be acquired, long before any ttl has passed. */
    private static void isFree(TckBench bench, LockName name) {
        LockClient observer = bench.client();
        TckBench.until(
                "\"" + name + "\" is free", () -> observer.admin().inspect(name).isEmpty());
        try (Lease lease = observer.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(lease, "the lock that was given up is held");
            assertInstanceOf(Lease.class, lease);
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }
}
