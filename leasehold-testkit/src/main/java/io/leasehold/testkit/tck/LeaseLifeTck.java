package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Tests of a lease from its beginning to its end: renewal, expiry, loss, release. */
public interface LeaseLifeTck extends SharesStore {

    /** Renewal keeps a lease with a short ttl alive for several ttls, and excludes every other client. */
    @Test
    default void renewalKeepsALeaseAlive(TckBench bench) throws InterruptedException {
        Duration ttl = Duration.ofSeconds(2);
        LockClient client = bench.client(o -> o.ttl(ttl));
        LockClient other = bench.client();
        for (int attempt = 0; ; attempt++) {
            LockName name = bench.name("alive-" + attempt);
            try (StallGauge gauge = new StallGauge();
                    Lease lease = client.named(name).acquire()) {
                long token = lease.fencingToken();
                Lease intruder = other.named(name).tryAcquire(ttl.multipliedBy(3));
                if (intruder != null) {
                    assertFalse(lease.isValid(), "two hold at once");
                    intruder.close();
                }
                if (intruder != null && gauge.sawMoreThan(ttl.dividedBy(8)) && attempt < 5) {
                    continue; // The machine did not let the renewals run.
                }
                assertNull(intruder, "the lease was lost although it was renewed");
                assertTrue(lease.isValid());
                assertEquals(token, lease.fencingToken());
                assertEquals(ReleaseOutcome.RELEASED, lease.release());
                return;
            }
        }
    }

    /** A lock with {@code atLeast} stays taken after its release, longer than its ttl, and is free when the time has come. */
    @Test
    default void aLockStaysTakenAtLeastAsLongAsAsked(TckBench bench) throws InterruptedException {
        Duration atLeast = Duration.ofSeconds(3);
        LockClient client = bench.client(o -> o.ttl(Duration.ofSeconds(2)).atLeast(atLeast));
        LockClient other = bench.client();
        for (int attempt = 0; ; attempt++) {
            LockName name = bench.name("at-least-" + attempt);
            try (StallGauge gauge = new StallGauge()) {
                long before = System.nanoTime();
                Lease lease = client.named(name).acquire();
                long token = lease.fencingToken();
                assertEquals(ReleaseOutcome.KEPT, lease.release());
                assertFalse(lease.isValid(), "it is not held");
                try (Lease next = other.named(name).acquire()) {
                    boolean early = System.nanoTime() - before < atLeast.toNanos();
                    if (early && gauge.sawMoreThan(Duration.ofMillis(250)) && attempt < 5) {
                        continue; // The machine did not let the renewals run.
                    }
                    assertFalse(early, "the lock was had before atLeast had passed");
                    assertTrue(next.fencingToken() > token, "tokens increase");
                    return;
                }
            }
        }
    }

    /**
     * A lease that is not renewed ends: its holder learns the reason, and the lease is invalid before another client
     * holds the lock.
     */
    @Test
    default void leaseWithoutRenewalEnds(TckBench bench) throws InterruptedException {
        Duration ttl = Duration.ofMillis(1_500);
        LockClient client = bench.client(o -> o.ttl(ttl).renewal(Renewal.none()));
        LockName name = bench.name("ends");
        long before = System.nanoTime();
        Lease lease = client.named(name).acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        lease.onLost(told::set);
        try (Lease next = bench.client().named(name).acquire()) {
            assertFalse(lease.isValid(), "two hold at once");
            assertTrue(System.nanoTime() - before >= ttl.toNanos() * 98 / 100, "taken over before the ttl had passed");
            assertTrue(next.isValid());
        }
        assertEquals(Duration.ZERO, lease.remainingValidity());
        TckBench.until("the holder is notified", () -> told.get() == LossCause.EXPIRED);
        assertEquals(
                new HoldEnd.Lost(LossCause.EXPIRED),
                TckBench.join(lease.whenEnded().toCompletableFuture()));
        LeaseLostException lost =
                assertThrows(LeaseLostException.class, () -> lease.ensureValidFor(Duration.ofMillis(1)));
        assertEquals(LossCause.EXPIRED, lost.lossCause());
        assertThrows(LeaseLostException.class, lease::renew);
        AtomicReference<LossCause> toldLater = new AtomicReference<>();
        lease.onLost(toldLater::set);
        TckBench.until("a later callback is notified, too", () -> toldLater.get() == LossCause.EXPIRED);
        assertEquals(ReleaseOutcome.ALREADY_LOST, lease.release());
        lease.close();
    }

    /** A late release of a lost lease does not affect the current holder. */
    @Test
    default void releaseOfALostLeaseIsHarmless(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(o -> o.ttl(Duration.ofSeconds(1)).renewal(Renewal.none()));
        LockName name = bench.name("harmless");
        Lease lost = client.named(name).acquire();
        LockClient other = bench.client();
        try (Lease next = other.named(name).acquire()) {
            assertEquals(ReleaseOutcome.ALREADY_LOST, lost.release());
            // Of the ordinary ttl: on a busy machine the answer to a short one may be late.
            assertNull(bench.client().named(name).tryAcquire(Duration.ZERO), "the late release freed the lock");
            next.renew();
            assertEquals(ReleaseOutcome.RELEASED, next.release());
        }
    }

    /** A lock delay runs from the loss: closing the lost lease, as every try-with-resources does, does not end it. */
    @Test
    default void lockDelayOutlivesTheCloseOfALostLease(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(
                o -> o.ttl(Duration.ofSeconds(1)).renewal(Renewal.none()).lockDelay(Duration.ofMinutes(2)));
        LockClient other = bench.client();
        LockName name = bench.name("delayed");
        Lease lost = client.named(name).acquire();
        TckBench.until("the lease has ended", () -> !lost.isValid());
        lost.close();
        assertEquals(ReleaseOutcome.ALREADY_LOST, lost.release());
        assertNull(other.named(name).tryAcquire(Duration.ofSeconds(1)), "the lock delay was cut");
        other.admin().forceRelease(name, null);
    }

    /** A release frees the lock at once and is reported once; closing afterwards changes nothing. */
    @Test
    default void releaseIsIdempotent(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockName name = bench.name("release");
        Lease lease = client.named(name).acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        lease.onLost(told::set);
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
        assertFalse(lease.isValid());
        assertEquals(Duration.ZERO, lease.remainingValidity());
        try (Lease next = bench.client().named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(next);
            assertEquals(ReleaseOutcome.RELEASED, lease.release());
            assertEquals(ReleaseOutcome.RELEASED, TckBench.join(lease.releaseAsync()));
            lease.close();
            lease.close();
            next.renew();
            assertTrue(next.isValid());
        }
        HoldEnd end = TckBench.join(lease.whenEnded().toCompletableFuture());
        assertEquals(
                ReleaseOutcome.RELEASED,
                assertInstanceOf(HoldEnd.Released.class, end).outcome());
        assertNull(told.get(), "a released lease was told as lost");
    }

    /** An explicit renewal moves the end of the lease. */
    @Test
    default void renewalByHandMovesTheEnd(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(o -> o.ttl(Duration.ofMinutes(5)).renewal(Renewal.none()));
        try (Lease lease = client.named(bench.name("by-hand")).acquire()) {
            long firstEnd = System.nanoTime() + lease.remainingValidity().toNanos();
            TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(50));
            lease.renew();
            long secondEnd = System.nanoTime() + lease.remainingValidity().toNanos();
            assertTrue(secondEnd - firstEnd > 0, "the end did not move");
            lease.ensureValidFor(Duration.ofMinutes(4));
            assertThrows(IllegalArgumentException.class, () -> lease.ensureValidFor(Duration.ofMinutes(5)));
        }
    }

    /** An operator takes a lock away: its holder is notified, and the next waiter gets the lock. */
    @Test
    default void forceReleaseIsToldToTheHolder(TckBench bench) throws InterruptedException {
        LockClient client = bench.client(o -> o.ttl(Duration.ofSeconds(3)));
        LockClient operator = bench.client();
        LockName name = bench.name("forced");
        Lease lease = client.named(name).acquire();
        AtomicReference<LossCause> told = new AtomicReference<>();
        lease.onLost(told::set);
        assertFalse(operator.admin().forceRelease(name, "another/0/0"));
        assertTrue(operator.admin().forceRelease(name, client.holderId()));
        TckBench.until("the holder is notified", () -> told.get() != null);
        assertFalse(lease.isValid());
        try (Lease next = operator.named(name).tryAcquire(TckBench.PATIENCE)) {
            assertNotNull(next);
        }
        lease.close();
    }
}
