package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Tests that validity always counts from sending and never from the reply: with each reply delayed by {@link #LATE}, no
 * lease ever shows more than its validity less that delay.
 */
public interface SendingTck extends SharesFront {

    /** The delay of each reply. Some stores need several exchanges for one request, which all have to fit into its time limit. */
    Duration LATE = Duration.ofMillis(100);

    /** A ttl whose requests may take 3 s. */
    private static LockOptions options(LockOptions options) {
        return options.ttl(Duration.ofSeconds(40)).renewal(Renewal.none());
    }

    private static UnaryOperator<LockOptions> renewed(Duration every) {
        return options -> options(options).renewal(Renewal.every(every));
    }

    /** A free lock. */
    @Test
    default void aGrantCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, SendingTck::options);
        front.delayReplies(LATE);
        for (int i = 0; i < 2; i++) {
            // The second time the store knows the lock.
            try (Lease lease = client.named(bench.name("grant")).acquire()) {
                countsFromItsSending(lease);
            }
        }
        front.resume();
    }

    /** A lock that another client releases while this one waits, handed over by the store or not. */
    @Test
    default void aGrantToAWaiterCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, options -> options(options).recheck(Duration.ofSeconds(30)));
        LockName name = bench.name("waiter");
        Lease held = bench.client().named(name).acquire();
        CompletableFuture<Lease> waiter = client.named(name).acquireAsync();
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(300));
        front.delayReplies(LATE);
        CompletableFuture<ReleaseOutcome> released = held.releaseAsync();
        Lease lease = TckBench.join(waiter);
        countsFromItsSending(lease);
        TckBench.join(released);
        front.resume();
        lease.release();
    }

    /** A waiter that asks periodically, like one that received no notification. */
    @Test
    default void aGrantToAWaiterThatLooksCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, options -> options(options).recheck(Duration.ofMillis(50)));
        LockName name = bench.name("looks");
        Lease held = bench.client().named(name).acquire();
        front.delayReplies(LATE);
        CompletableFuture<Lease> waiter = client.named(name).acquireAsync();
        TckBench.sleepUntil(System.nanoTime(), LATE.multipliedBy(3));
        CompletableFuture<ReleaseOutcome> released = held.releaseAsync();
        Lease lease = TckBench.join(waiter);
        countsFromItsSending(lease);
        TckBench.join(released);
        front.resume();
        lease.release();
    }

    /** A request whose reply was lost with its connection, and that is repeated and finds its own lock. */
    @Test
    default void aGrantThatIsFoundByAskingAgainCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, SendingTck::options);
        front.holdReplies();
        CompletableFuture<Lease> asked = client.named(bench.name("again")).acquireAsync();
        front.breakWhatBeginsWithin(Duration.ofMillis(100), LATE);
        Lease lease = TckBench.join(asked);
        countsFromItsSending(lease);
        front.resume();
        lease.release();
    }

    /** A lease that is passed on within the process keeps its end. */
    @Test
    default void aHandOverInTheProcessKeepsTheEnd(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, renewed(Duration.ofSeconds(10)));
        for (int attempt = 0; attempt < 5; attempt++) {
            LockName name = bench.name("passed-" + attempt);
            front.delayReplies(LATE);
            CompletableFuture<Lease> first = client.named(name).acquireAsync();
            CompletableFuture<Lease> second = client.named(name).acquireAsync();
            Lease lease = TckBench.join(first);
            long endAtNanos = endOf(lease);
            long before = System.nanoTime();
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            Lease passed = TckBench.join(second);
            boolean atOnce = System.nanoTime() - before < LATE.toNanos();
            countsFromItsSending(passed);
            front.resume();
            if (atOnce) {
                // No reply came in between.
                assertTrue(endOf(passed) - endAtNanos < 1_000_000L, "a lease that was passed on ends later");
            }
            TckBench.join(released);
            passed.release();
            if (atOnce) {
                return;
            }
        }
    }

    /** Renewals of the client's own. */
    @Test
    default void aRenewalCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, renewed(Duration.ofMillis(250)));
        try (Lease lease = client.named(bench.name("renewed")).acquire()) {
            staysBelowWhileItMoves(front, lease);
        }
    }

    /** Renewals by hand. */
    @Test
    default void aRenewalByHandCountsFromItsSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, SendingTck::options);
        try (Lease lease = client.named(bench.name("by-hand")).acquire()) {
            front.delayReplies(LATE);
            for (int i = 0; i < 2; i++) {
                lease.renew();
                countsFromItsSending(lease);
            }
            front.resume();
        }
    }

    /** Several locks: taken, and renewed by hand. */
    @Test
    default void severalLocksCountFromTheirSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, SendingTck::options);
        front.delayReplies(LATE);
        try (MultiLease lease =
                client.all(bench.name("a"), bench.name("b"), bench.name("c")).acquire()) {
            countsFromItsSending(lease);
            lease.renew();
            countsFromItsSending(lease);
            front.resume();
        }
    }

    /** Several locks, renewed by the client, one of which was waited for. */
    @Test
    default void severalLocksThatAreRenewedCountFromTheirSending(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = warm(bench, front, renewed(Duration.ofMillis(250)));
        LockName name = bench.name("b");
        Lease held = bench.client().named(name).acquire();
        CompletableFuture<MultiLease> waiter = client.all(bench.name("a"), name).acquireAsync();
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(100));
        CompletableFuture<ReleaseOutcome> released = held.releaseAsync();
        try (MultiLease lease = TckBench.join(waiter)) {
            assertEquals(ReleaseOutcome.RELEASED, TckBench.join(released));
            staysBelowWhileItMoves(front, lease);
        }
    }

    /** A client that has opened and asked all that it opens and asks once. */
    private static LockClient warm(TckBench bench, StoreFront front, UnaryOperator<LockOptions> change)
            throws InterruptedException {
        LockClient client = bench.clientThrough(front, change);
        client.named(bench.name("warm")).acquire().release();
        return client;
    }

    private static void countsFromItsSending(Hold hold) {
        long leftNanos = hold.remainingValidity().toNanos();
        long mostNanos = options(LockOptions.defaults()).validity().minus(LATE).toNanos();
        assertTrue(leftNanos > 0, "a lease that was just obtained has ended");
        assertTrue(
                leftNanos <= mostNanos,
                () -> "after a reply that was " + LATE.toMillis() + " ms late, " + leftNanos / 1_000_000
                        + " ms of validity are left, and no more than " + mostNanos / 1_000_000 + " ms may be");
    }

    /** Checks all the time, while replies are late and the end moves twice by renewals that were sent meanwhile. */
    private static void staysBelowWhileItMoves(StoreFront front, Hold hold) {
        front.delayReplies(LATE);
        long begunAtNanos = System.nanoTime();
        // Earlier requests arrived without delay.
        TckBench.sleepUntil(begunAtNanos, LATE);
        long endAtNanos = endOf(hold);
        for (int moves = 0; moves < 3; ) {
            countsFromItsSending(hold);
            long nowEndAtNanos = endOf(hold);
            if (nowEndAtNanos - endAtNanos > 50_000_000L) {
                endAtNanos = nowEndAtNanos;
                moves++;
            }
            assertTrue(
                    System.nanoTime() - begunAtNanos < TckBench.PATIENCE.toNanos(),
                    "the lease is not renewed any more");
            LockSupport.parkNanos(1_000_000L);
        }
        front.resume();
    }

    private static long endOf(Hold hold) {
        return System.nanoTime() + hold.remainingValidity().toNanos();
    }
}
