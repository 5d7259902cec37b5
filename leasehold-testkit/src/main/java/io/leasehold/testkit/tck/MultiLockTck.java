package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Attempt;
import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/**
 * Tests of several locks at once: all or none, whether the store acquires them in one step or the engine acquires them
 * in order.
 */
public interface MultiLockTck extends SharesStore {

    /** All locks are held together, each with an increasing token of its own name, and all are released together. */
    @Test
    default void severalLocksAreHeldAndGivenBackTogether(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockClient other = bench.client();
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        LockName c = bench.name("c");
        long[] last = new long[3];
        for (int i = 0; i < 20; i++) {
            try (MultiLease lease = client.all(c, a, b, a).acquire()) {
                assertEquals(List.of(a, b, c), lease.lockNames());
                assertTrue(lease.isValid());
                int n = 0;
                for (LockName name : List.of(a, b, c)) {
                    if (client.guarantees().covers(Guarantee.Fencing.INCREASING)) {
                        assertTrue(lease.fencingToken(name) > last[n], "the token of \"" + name + "\" went down");
                    }
                    last[n++] = lease.fencingToken(name);
                    assertNull(other.named(name).tryAcquire(Duration.ZERO));
                    assertNull(client.named(name).tryAcquire(Duration.ZERO));
                }
                assertThrows(IllegalArgumentException.class, () -> lease.fencingToken(bench.name("d")));
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
            }
            try (Lease between = other.named(b).tryAcquire(TckBench.PATIENCE)) {
                assertNotNull(between);
                last[1] = between.fencingToken();
            }
        }
        MultiLocks.areFree(bench, a, b, c);
    }

    /** If one lock is busy, none is acquired; the answer names it. */
    @Test
    default void oneBusyLockKeepsAllOthersFree(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        LockName c = bench.name("c");
        try (Lease obstacle = bench.client().named(b).acquire()) {
            assertTrue(obstacle.isValid());
            Attempt<MultiLease> at = client.all(a, b, c).attempt(Duration.ZERO);
            assertEquals(b, assertInstanceOf(Attempt.Busy.class, at).lockName());
            Attempt<MultiLease> later = client.all(a, b, c).attempt(Duration.ofMillis(300));
            assertEquals(b, assertInstanceOf(Attempt.Busy.class, later).lockName());
            MultiLocks.areFree(bench, a, c);
        }
        try (MultiLease lease = client.all(a, b, c).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(lease);
        }
        MultiLocks.areFree(bench, a, b, c);
    }

    /** Callers that name them in different orders, and callers of single ones, neither deadlock nor overlap. */
    @Test
    default void differentOrdersDoNotDeadlock(TckBench bench) {
        LockName[] names = {bench.name("x"), bench.name("y"), bench.name("z")};
        UnguardedCounter[] counters = {new UnguardedCounter(), new UnguardedCounter(), new UnguardedCounter()};
        int[][] orders = {{0, 1}, {1, 0}, {1, 2}, {2, 0, 1}, {2, 1}, {0}};
        int rounds = 15;
        int[] expected = new int[3];
        List<Thread> threads = new ArrayList<>();
        TaskErrors errors = new TaskErrors();
        LockClient[] clients = {bench.client(), bench.client()};
        for (int i = 0; i < orders.length; i++) {
            int[] order = orders[i];
            LockClient client = clients[i % 2];
            LockName[] wanted = new LockName[order.length];
            for (int n = 0; n < order.length; n++) {
                wanted[n] = names[order[n]];
                expected[order[n]] += rounds;
            }
            threads.add(errors.start("caller-" + i, () -> {
                for (int round = 0; round < rounds; round++) {
                    try (MultiLease lease = client.all(wanted).acquire()) {
                        for (int n : order) {
                            counters[n].addOneSlowly(lease.fencingToken(names[n]));
                        }
                    }
                }
            }));
        }
        errors.join(threads);
        for (int n = 0; n < 3; n++) {
            assertEquals(expected[n], counters[n].value());
            if (clients[0].guarantees().covers(Guarantee.Fencing.INCREASING)) {
                assertEquals(0, counters[n].tokensOutOfOrder());
            }
        }
        MultiLocks.areFree(bench, names);
    }

    /** If one lock is taken away, the whole lease is lost, and the other locks are still released. */
    @Test
    default void theLossOfOnePartIsTheLossOfAll(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(o -> o.ttl(Duration.ofSeconds(2)));
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        MultiLease lease = client.all(a, b).acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        lease.onLost(told::set);
        assertTrue(bench.client().admin().forceRelease(b, null));
        TckBench.until("the loss is reported", () -> told.get() != null);
        assertFalse(lease.isValid());
        assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
        MultiLocks.areFree(bench, a, b);
    }

    /** A fixed ttl may end while the attempt waits for the rest: the lease that is handed out is complete. */
    @Test
    default void noPartHasEndedWhenAllAreHandedOut(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(o -> o.ttl(Duration.ofMillis(1_500)).renewal(Renewal.none()));
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        Lease obstacle = bench.client().named(b).acquire();
        long start = System.nanoTime();
        CompletableFuture<Attempt<MultiLease>> attempt = client.all(a, b).attemptAsync(TckBench.PATIENCE);
        TckBench.sleepUntil(start, Duration.ofSeconds(2));
        obstacle.release();
        try (MultiLease lease = TckBench.join(attempt).orElseThrow()) {
            Duration left = lease.remainingValidity();
            // Both were valid when they were handed over; only a machine that stops for a second makes it zero here.
            assertTrue(lease.isValid() || left.isZero());
            assertTrue(lease.fencingToken(a) > 0);
        }
        MultiLocks.areFree(bench, a, b);
    }

    /** Interrupt, cancellation and close with one lock already held leave nothing behind. */
    @Test
    default void givingUpLeavesNoPart(TckBench bench) throws InterruptedException {
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        Lease obstacle = bench.client().named(b).acquire();
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        TaskErrors errors = new TaskErrors();
        CountDownLatch begun = new CountDownLatch(1);
        Thread waiter = errors.start("waiter", () -> {
            begun.countDown();
            assertThrows(InterruptedException.class, () -> client.all(a, b).acquire());
        });
        CompletableFuture<MultiLease> cancelled = client.all(b, a).acquireAsync();
        LockClient closed = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        CompletableFuture<MultiLease> withdrawn = closed.all(b, a).acquireAsync();
        begun.await();
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(100));
        waiter.interrupt();
        assertTrue(cancelled.cancel(false));
        closed.close();
        errors.join(List.of(waiter));
        TckBench.until("the closed client's attempt has ended", withdrawn::isCompletedExceptionally);
        MultiLocks.areFree(bench, a);
        obstacle.release();
        MultiLocks.areFree(bench, a, b);
    }

    /** Cancelling and closing race the grant of several: whichever comes first, nothing is left. */
    @Test
    default void givingUpRacesTheGrantOfAll(TckBench bench) {
        LockName a = bench.name("a");
        LockName b = bench.name("b");
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
        for (int i = 0; i < 60; i++) {
            CompletableFuture<MultiLease> future = client.all(a, b).acquireAsync();
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_500_000));
            if (!future.cancel(false)) {
                TckBench.join(future).release();
            }
        }
        for (int i = 0; i < 10; i++) {
            LockClient closing = bench.client(o -> o.ttl(Duration.ofMinutes(10)));
            CompletableFuture<MultiLease> future = closing.all(a, b).acquireAsync();
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_500_000));
            closing.close();
            TckBench.until("the attempt has ended", future::isDone);
        }
        MultiLocks.areFree(bench, a, b);
    }
}
