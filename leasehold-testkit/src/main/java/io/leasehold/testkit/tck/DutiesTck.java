package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Renewal;
import io.leasehold.spi.Grant;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests that each periodic duty continues after one of its exchanges has failed: once, and later once more. */
public interface DutiesTck extends SharesFront {

    /** All duties of a client with {@link #quickDuties} begin an exchange within this. */
    Duration A_WHILE = Duration.ofMillis(300);

    private static LockOptions quickDuties(LockOptions options) {
        return options.ttl(Duration.ofSeconds(40))
                .renewal(Renewal.every(Duration.ofMillis(250)))
                .renewalTries(100)
                .recheck(Duration.ofMillis(150));
    }

    private static LockOptions onlyWhenTold(LockOptions options) {
        return options.ttl(TckBench.LONG_TTL).recheck(TckBench.LONG_TTL);
    }

    /** Renewals, and the heartbeats and keep-alives on which they rest. */
    @Test
    default void renewalsGoOn(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = bench.clientThrough(front, DutiesTck::quickDuties);
        try (Lease lease = client.named(bench.name("renewed")).acquire();
                Lease other = client.named(bench.name("renewed-too")).acquire()) {
            for (int i = 0; i < 2; i++) {
                front.breakWhatBeginsWithin(A_WHILE, Duration.ZERO);
                for (int moves = 0; moves < 3; moves++) {
                    moves(lease);
                    moves(other);
                }
            }
        }
    }

    private static void moves(Lease lease) {
        long endAtNanos = System.nanoTime() + lease.remainingValidity().toNanos();
        TckBench.until("the next renewal", () -> {
            assertTrue(lease.isValid(), "the lease was lost");
            return System.nanoTime() + lease.remainingValidity().toNanos() - endAtNanos > 50_000_000L;
        });
    }

    /** The recheck of a waiter that receives no notification that the holder is gone. */
    @Test
    default void looksOfAWaiterGoOn(TckBench bench) {
        StoreFront front = bench.front();
        LockClient client = bench.clientThrough(front, DutiesTck::quickDuties);
        LockName name = bench.name("looked-for");
        StoreDriver holder = bench.store();
        Duration ttl = Duration.ofMillis(1_500);
        Grant held = holder.granted(name, holder.owner(), ttl);
        CompletableFuture<Lease> waiter = client.named(name).acquireAsync();
        front.breakWhatBeginsWithin(A_WHILE, Duration.ZERO);
        long requests = front.requests();
        TckBench.until("the waiter looks again", () -> waiter.isDone() || front.requests() > requests);
        front.breakWhatBeginsWithin(A_WHILE, Duration.ZERO);
        TckBench.sleepUntil(held.sentAtNanos(), ttl.plusMillis(500));
        if (!waiter.isDone()) {
            // A session keeps it; where a ttl does, this is late.
            TckBench.until("the waiter looks", () -> waiter.isDone() || holderIsGone(holder));
        }
        TckBench.join(waiter).releaseAsync();
    }

    private static boolean holderIsGone(StoreDriver holder) {
        holder.store().close();
        return true;
    }

    /** The ways in which a waiter learns of a release: a subscription, a watch, a connection that listens, a poll. */
    @Test
    default void wakeUpsGoOn(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = bench.clientThrough(front, DutiesTck::onlyWhenTold);
        LockClient holder = bench.client(options -> options.ttl(TckBench.LONG_TTL));
        LockName name = bench.name("told");
        Lease held = holder.named(name).acquire();
        for (int i = 0; i < 2; i++) {
            CompletableFuture<Lease> waiter = client.named(name).acquireAsync();
            TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(300));
            front.breakWhatBeginsWithin(Duration.ofMillis(100), Duration.ZERO);
            // A client that reconnects polls once in any case, which would hide that notifications no longer arrive.
            TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(800));
            CompletableFuture<ReleaseOutcome> released = held.releaseAsync();
            Lease lease = TckBench.join(waiter);
            TckBench.join(released);
            CompletableFuture<Lease> again = holder.named(name).acquireAsync();
            TckBench.join(lease.releaseAsync());
            held = TckBench.join(again);
        }
        held.release();
    }

    /** A release that does not reach the store, and whose reply is lost another time, is repeated. */
    @Test
    default void releasesAreRepeated(TckBench bench) throws InterruptedException {
        StoreFront front = bench.front();
        LockClient client = bench.clientThrough(front, options -> options.ttl(TckBench.LONG_TTL));
        LockClient next = bench.client();
        for (int i = 0; i < 3; i++) {
            LockName name = bench.name("released-" + i);
            Lease lease = client.named(name).acquire();
            if (i > 0) {
                front.holdRequests();
            } else {
                front.holdReplies();
            }
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            front.breakWhatBeginsWithin(Duration.ofMillis(50), Duration.ZERO);
            if (i == 2) {
                front.breakWhatBeginsWithin(A_WHILE, Duration.ZERO);
            }
            front.resume();
            TckBench.join(next.named(name).acquireAsync()).release();
            TckBench.join(released);
        }
    }
}
