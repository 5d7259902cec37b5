package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.AmbiguousExportException;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.ReleaseOutcome;
import io.leasehold.TicketRefusedException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests of leases that travel while replies are lost: neither a ticket nor a lease is given twice, and none stays behind. */
public interface TicketFaultsTck extends SharesFront {

    /** How long the connections of a client are broken. */
    Duration BROKEN = Duration.ofMillis(150);

    private static LockOptions lasting(LockOptions options) {
        return options.ttl(TckBench.LONG_TTL);
    }

    /** An export whose reply is lost is repeated, and there is one ticket. */
    @Test
    default void anExportSurvivesALostReply(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("export-lost");
        StoreFront front = bench.front();
        Lease lease =
                bench.clientThrough(front, TicketFaultsTck::lasting).named(name).acquire();
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        LeaseTicket ticket = TckBench.join(lease.exportAsync(TckBench.LONG_TTL));
        Lease next = bench.client().resume(ticket, TckBench.PATIENCE);
        assertTrue(next.fencingToken() > lease.fencingToken());
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }

    /** A resume whose reply is lost is repeated, and gives one lease. */
    @Test
    default void aResumeSurvivesALostReply(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("resume-lost");
        StoreFront front = bench.front();
        LockClient claimant = bench.clientThrough(front, TicketFaultsTck::lasting);
        LeaseTicket ticket = bench.client().named(name).acquire().export(TckBench.LONG_TTL);
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        Lease next = TckBench.join(claimant.resumeAsync(ticket, TckBench.PATIENCE));
        assertThrows(TicketRefusedException.class, () -> bench.client().resume(ticket, TckBench.PATIENCE));
        next.renew();
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }

    /** A resume without a reply is continued by the next attempt of the client, and by no other client. */
    @Test
    default void aResumeWithoutAReplyIsContinued(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("resume-continued");
        StoreFront front = bench.front();
        LockClient claimant = bench.clientThrough(front, TicketFaultsTck::lasting);
        // The client knows the clock of the store from now on, so that its request to resume is the next.
        claimant.named(name).acquire().close();
        LeaseTicket ticket = bench.client().named(name).acquire().export(TckBench.LONG_TTL);
        long before = front.requests();
        front.holdReplies();
        CompletableFuture<Lease> unanswered = claimant.resumeAsync(ticket, Duration.ZERO);
        TckBench.until("the request passes", () -> front.requests() > before);
        front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        Throwable why = TckBench.join(unanswered.handle((lease, error) -> error));
        if (why == null) {
            // The store itself has repeated the transaction.
            assertEquals(ReleaseOutcome.RELEASED, unanswered.join().release());
            return;
        }
        assertInstanceOf(LockStoreException.class, why);
        if (why instanceof AmbiguousAcquireException) {
            // The request may have been lost with its connection. Then the other client resumes, and it alone.
            Lease other = resumedOrRefused(bench.client(), ticket);
            if (other != null) {
                assertThrows(TicketRefusedException.class, () -> claimant.resume(ticket, TckBench.PATIENCE));
                assertEquals(ReleaseOutcome.RELEASED, other.release());
                return;
            }
        }
        Lease next = claimant.resume(ticket, TckBench.PATIENCE);
        next.renew();
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }

    private static @Nullable Lease resumedOrRefused(LockClient client, LeaseTicket ticket) throws InterruptedException {
        try {
            return client.resume(ticket, TckBench.PATIENCE);
        } catch (TicketRefusedException e) {
            return null;
        }
    }

    /** An export without a reply gives no ticket, and the lock is free long before the end of its claim. */
    @Test
    default void anExportWithoutAReplyIsUndone(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("export-undone");
        StoreFront front = bench.front();
        Lease lease = bench.clientThrough(front, options -> options.ttl(Duration.ofSeconds(2)))
                .named(name)
                .acquire();
        front.holdReplies();
        CompletableFuture<LeaseTicket> exported = lease.exportAsync(TckBench.LONG_TTL);
        while (!exported.isDone()) {
            front.breakWhatBeginsWithin(BROKEN, Duration.ZERO);
        }
        if (!exported.isCompletedExceptionally()) {
            // A request came between two breaks.
            assertEquals(name, exported.join().lockName());
            return;
        }
        assertInstanceOf(
                AmbiguousExportException.class,
                assertThrows(CompletionException.class, exported::join).getCause());
        assertNotNull(bench.client().named(name).tryAcquire(TckBench.PATIENCE));
    }
}
