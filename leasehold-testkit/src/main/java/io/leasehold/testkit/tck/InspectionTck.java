package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Seeing and repairing what is at the store. */
public interface InspectionTck extends SharesStore {

    /** A held lock is described with its public holder; a free one is not there; the owner token never shows. */
    @Test
    default void describeTellsTheHolder(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("described");
        assertTrue(store.answer(store.store().admin().describe(name)).isEmpty());
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        StoreDriver other = bench.store();
        HeldLock record = other.answer(other.store().admin().describe(name)).orElseThrow();
        assertEquals(name, record.name());
        Holder holder = record.holder();
        assertEquals(StoreDriver.HOLDER, holder.id());
        Duration left = holder.remainingTtl();
        if (left != null) {
            assertFalse(left.isNegative());
            assertTrue(left.compareTo(LONG_TTL.plusMillis(1)) <= 0, "more is left than the ttl: " + left);
        }
        holder.fencingToken().ifPresent(token -> assertEquals(grant.tokens().first(), token));
        assertFalse(record.toString().contains(grant.owner().hex()), "the owner token shows");
        store.release(name, grant);
        assertTrue(store.answer(store.store().admin().describe(name)).isEmpty());
    }

    /** A lock whose ttl has passed is not described as held. */
    @Test
    default void describeKnowsExpiry(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("expired");
        store.granted(name, store.owner(), Duration.ofSeconds(1));
        TckBench.until(
                "the expired lock is gone",
                () -> store.answer(store.store().admin().describe(name)).isEmpty());
    }

    /** Globs know {@code *} and {@code ?} and nothing else; answers are sorted and limited. */
    @Test
    default void listMatchesGlobs(TckBench bench) {
        StoreDriver store = bench.store();
        List<String> held =
                List.of("list-a1", "list-a2", "list-b1", "list-[x]", "list-x", "list-%", "list-_", "list-\\");
        for (String rest : held) {
            store.granted(bench.name(rest), store.owner(), LONG_TTL);
        }
        Grant gone = store.granted(bench.name("list-gone"), store.owner(), LONG_TTL);
        store.release(bench.name("list-gone"), gone);
        assertEquals(sorted(bench, held), list(store, bench.prefix() + "list-*", 100));
        assertEquals(sorted(bench, List.of("list-a1", "list-a2")), list(store, bench.prefix() + "list-a?", 100));
        assertEquals(sorted(bench, List.of("list-a1", "list-b1")), list(store, bench.prefix() + "list-?1", 100));
        assertEquals(sorted(bench, List.of("list-[x]")), list(store, bench.prefix() + "list-[x]", 100));
        assertEquals(sorted(bench, List.of("list-%")), list(store, bench.prefix() + "list-%", 100));
        assertEquals(sorted(bench, List.of("list-_")), list(store, bench.prefix() + "list-_", 100));
        assertEquals(sorted(bench, List.of("list-\\")), list(store, bench.prefix() + "list-\\", 100));
        assertEquals(List.of(), list(store, bench.prefix() + "list-A?", 100), "names are case sensitive");
        assertEquals(3, list(store, bench.prefix() + "*", 3).size());
    }

    private static List<String> list(StoreDriver store, String glob, int limit) {
        return store.answer(store.store().admin().list(glob, limit)).stream()
                .map(record -> record.name().text())
                .toList();
    }

    private static List<String> sorted(TckBench bench, List<String> rests) {
        List<String> names = new ArrayList<>();
        rests.forEach(rest -> names.add(bench.name(rest).text()));
        names.sort(null);
        return names;
    }

    /** Waiters are listed in order, without the holder, up to the limit; one that has left is not listed. */
    @Test
    default void waitersAreToldInOrder(TckBench bench) {
        bench.needs(Guarantee.Queueing.FIFO);
        StoreDriver holder = bench.store();
        StoreDriver first = bench.store();
        StoreDriver second = bench.store();
        LockName name = bench.name("line");
        assertEquals(List.of(), waiters(holder, name, 10));
        holder.granted(name, holder.owner(), LONG_TTL);
        assertEquals(List.of(), waiters(holder, name, 10));
        OwnerToken leaving = first.owner();
        long ballot = first.queued(name, leaving, "host/1/first").ballot();
        second.queued(name, second.owner(), "host/2/second");

        assertEquals(List.of("host/1/first", "host/2/second"), waiters(holder, name, 10));
        assertEquals(List.of("host/1/first"), waiters(second, name, 1));
        assertEquals(List.of(), waiters(holder, bench.name("line-of-another"), 10));

        first.undo(name, leaving, ballot);
        assertEquals(List.of("host/2/second"), waiters(holder, name, 10));
    }

    private static List<String> waiters(StoreDriver store, LockName name, int limit) {
        List<QueuedWaiter> waiters = store.answer(store.store().admin().waiters(name, limit));
        waiters.forEach(waiter -> {
            Duration waited = waiter.waited();
            assertTrue(waited == null || !waited.isNegative(), "waited for " + waited);
        });
        return waiters.stream().map(QueuedWaiter::holderId).toList();
    }

    /** Force-release takes the lock away, once, and the next token is larger all the same. */
    @Test
    default void forceReleaseTakesTheLockAway(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("force");
        assertFalse(store.answer(store.store().admin().forceRelease(name, null)));
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        StoreDriver operator = bench.store();
        assertTrue(operator.answer(operator.store().admin().forceRelease(name, null)));
        assertFalse(operator.answer(operator.store().admin().forceRelease(name, null)));
        assertInstanceOf(RenewReply.NotOurs.class, store.renew(name, grant.owner(), LONG_TTL));
        Grant next = operator.granted(name, operator.owner(), LONG_TTL);
        if (store.store().guarantees().covers(Guarantee.Fencing.INCREASING)) {
            assertTrue(next.tokens().first() > grant.tokens().last());
        }
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, grant));
        operator.busy(name);
    }

    /** Force-release with a holder id takes only that holder's lock. */
    @Test
    default void forceReleaseComparesTheHolder(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("force-holder");
        store.granted(name, store.owner(), LONG_TTL);
        assertFalse(store.answer(store.store().admin().forceRelease(name, "another/client/entirely")));
        store.busy(name);
        assertTrue(store.answer(store.store().admin().forceRelease(name, StoreDriver.HOLDER)));
        store.granted(name, store.owner(), LONG_TTL);
    }
}
