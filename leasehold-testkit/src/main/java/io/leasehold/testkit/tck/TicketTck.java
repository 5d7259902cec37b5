package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReleaseOutcome;
import io.leasehold.TicketRefusedException;
import io.leasehold.UnsafeStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Tests of leases that travel: a ticket is used at most once, and no client holds the lock between export and resume. */
public interface TicketTck extends SharesStore {

    /** A store that keeps no tickets says so before it changes anything. */
    @Test
    default void aStoreWithoutTicketsRefusesThemAtTheDoor(TckBench bench) throws InterruptedException {
        if (bench.keepsTickets()) {
            return;
        }
        LockName name = bench.name("refused");
        LockClient client = bench.client();
        Lease lease = client.named(name).acquire();
        assertThrows(UnsafeStoreException.class, () -> lease.export(Duration.ofSeconds(10)));
        assertTrue(lease.isValid());
        lease.renew();
        LeaseTicket ticket = LeaseTicket.of(name, "0".repeat(40), Duration.ofSeconds(10), "nowhere");
        assertThrows(UnsafeStoreException.class, () -> client.resume(ticket, Duration.ZERO));
        assertTrue(lease.isValid());
        assertEquals(ReleaseOutcome.RELEASED, lease.release());
    }

    /** The ticket keeps the lock, is used once in another client, and gives a larger token. */
    @Test
    default void aLeaseTravelsOnce(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("travels");
        LockClient exporter = bench.client();
        LockClient other = bench.client();
        Lease first = exporter.named(name).acquire();

        String text = first.export(Duration.ofMinutes(2)).text();
        assertFalse(first.isValid());
        assertEquals(ReleaseOutcome.EXPORTED, first.release());
        assertNull(other.named(name).tryAcquire(Duration.ZERO));
        assertNull(exporter.named(name).tryAcquire(Duration.ZERO));
        Holder keeper = other.admin().inspect(name).orElseThrow();
        assertTrue(keeper.isTicket(), keeper.id());
        assertTrue(keeper.id().endsWith(exporter.holderId()), keeper.id());

        LockClient claimant = bench.client();
        Lease second = claimant.resume(LeaseTicket.parse(text), Duration.ofSeconds(20));
        assertTrue(second.fencingToken() > first.fencingToken());
        assertTrue(second.isValid());
        second.renew();
        assertNull(other.named(name).tryAcquire(Duration.ZERO));
        assertRefused(bench.client(), text);
        assertRefused(claimant, text);
        assertTrue(second.isValid());

        String back = second.export(Duration.ofMinutes(2)).text();
        assertRefused(other, text);
        Lease third = exporter.resume(LeaseTicket.parse(back), Duration.ofSeconds(20));
        assertTrue(third.fencingToken() > second.fencingToken());
        assertEquals(ReleaseOutcome.RELEASED, third.release());
        assertRefused(other, back);
        try (Lease next = other.named(name).acquire()) {
            assertTrue(next.fencingToken() > third.fencingToken());
        }
    }

    private static void assertRefused(LockClient client, String text) {
        assertThrows(
                TicketRefusedException.class, () -> client.resume(LeaseTicket.parse(text), Duration.ofSeconds(20)));
    }

    /** An unused ticket keeps the lock for its claim and no longer, even if the hold had more left. */
    @Test
    default void anUnusedTicketEndsWithItsClaim(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("unused");
        Lease first = bench.client(options -> options.ttl(TckBench.LONG_TTL))
                .named(name)
                .acquire();
        long startAtNanos = System.nanoTime();
        LeaseTicket ticket = first.export(Duration.ofMillis(1_500));
        LockClient other = bench.client();
        Lease next = other.named(name).acquire();
        assertTrue(System.nanoTime() - startAtNanos >= Duration.ofMillis(1_500).toNanos(), "before the claim was over");
        assertTrue(next.fencingToken() > first.fencingToken());
        assertRefused(bench.client(), ticket.text());
        next.renew();
        assertTrue(next.isValid());
        assertEquals(ReleaseOutcome.RELEASED, next.release());
        assertRefused(bench.client(), ticket.text());
        assertTrue(other.admin().inspect(name).isEmpty(), "a resume never takes a free lock");
    }

    /** The ttl of the resumed lease replaces the rest of the claim, which would outlive a holder that crashes. */
    @Test
    default void aResumeEndsTheClaim(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("resumed");
        LeaseTicket ticket = bench.client().named(name).acquire().export(Duration.ofHours(1));
        LockClient claimant = bench.client(options -> options.ttl(TckBench.LONG_TTL));
        Lease next = claimant.resume(ticket, Duration.ofSeconds(20));
        Duration left = claimant.admin().inspect(name).orElseThrow().remainingTtl();
        assertTrue(
                left == null || left.compareTo(TckBench.LONG_TTL) <= 0, () -> "the store keeps the lock for " + left);
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }

    /** Of many that have a ticket, one gets the lease. */
    @Test
    default void oneOfManyClaimantsGetsTheLease(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("contested");
        LeaseTicket ticket = bench.client().named(name).acquire().export(Duration.ofMinutes(2));
        List<LockClient> clients = List.of(bench.client(), bench.client(), bench.client());
        List<CompletableFuture<Lease>> asked = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            asked.add(clients.get(i % clients.size()).resumeAsync(ticket, Duration.ofSeconds(30)));
        }
        List<Lease> won = new ArrayList<>();
        for (CompletableFuture<Lease> one : asked) {
            try {
                won.add(TckBench.join(one));
            } catch (CompletionException e) {
                assertTrue(e.getCause() instanceof TicketRefusedException, () -> String.valueOf(e.getCause()));
            }
        }
        assertEquals(1, won.size());
        assertTrue(won.get(0).isValid());
        assertEquals(ReleaseOutcome.RELEASED, won.get(0).release());
    }

    /** Those that wait for the lock, in the exporting client and elsewhere, wait until the resumed lease has ended. */
    @Test
    default void waitersWaitForTheEndOfTheResumedLease(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("awaited");
        LockClient exporter = bench.client();
        Lease first = exporter.named(name).acquire();
        CompletableFuture<Lease> local = exporter.named(name).acquireAsync();
        CompletableFuture<Lease> remote = bench.client().named(name).acquireAsync();
        LeaseTicket ticket = first.export(Duration.ofMinutes(2));
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(700));
        assertFalse(local.isDone() || remote.isDone(), "no client holds the lock between export and resume");
        Lease second = bench.client().resume(ticket, Duration.ofSeconds(20));
        TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(700));
        assertFalse(local.isDone() || remote.isDone());
        assertTrue(second.isValid());
        assertEquals(ReleaseOutcome.RELEASED, second.release());
        Lease third = (Lease) TckBench.join(CompletableFuture.anyOf(local, remote));
        assertTrue(third.fencingToken() > second.fencingToken());
        assertEquals(ReleaseOutcome.RELEASED, third.release());
        assertEquals(
                ReleaseOutcome.RELEASED,
                (TckBench.join(local) == third ? TckBench.join(remote) : TckBench.join(local)).release());
    }

    /** An operator releases a lock that is kept for a ticket; the ticket is worth nothing then. */
    @Test
    default void anOperatorEndsATicket(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("taken");
        LockClient exporter = bench.client();
        LeaseTicket ticket = exporter.named(name).acquire().export(Duration.ofMinutes(2));
        LockClient operator = bench.client();
        String label = operator.admin().inspect(name).orElseThrow().id();
        assertTrue(operator.admin().forceRelease(name, label));
        assertRefused(exporter, ticket.text());
        Lease next = operator.named(name).tryAcquire(Duration.ofSeconds(20));
        assertNotNull(next);
        assertRefused(exporter, ticket.text());
        assertTrue(next.isValid());
    }

    /** A lease that another client has ended gives no ticket, and its export takes the lock from no other holder. */
    @Test
    default void aLostLeaseGivesNoTicket(TckBench bench) throws InterruptedException {
        bench.needsTickets();
        LockName name = bench.name("lost");
        Lease first = bench.client().named(name).acquire();
        LockClient other = bench.client();
        assertTrue(other.admin().forceRelease(name, null));
        Lease next = other.named(name).acquire();
        assertThrows(LeaseLostException.class, () -> first.export(Duration.ofMinutes(2)));
        next.renew();
        assertTrue(next.isValid());
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }
}
