package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests of acquire requests at the store: exclusion, own-token recognition, expiry, fencing tokens. */
public interface AcquireTck extends SharesStore {

    /** A free lock is granted, and its ttl counts from a moment between call and reply. */
    @Test
    default void acquireGrantsAFreeLock(TckBench bench) {
        StoreDriver store = bench.store();
        OwnerToken owner = store.owner();
        long before = store.nanoTime();
        Grant grant = store.granted(bench.name("free"), owner, LONG_TTL);
        long after = store.nanoTime();
        assertEquals(owner, grant.owner());
        assertTrue(grant.sentAtNanos() - before >= 0, "sentAtNanos is before the call");
        assertTrue(after - grant.sentAtNanos() >= 0, "sentAtNanos is after the reply");
        assertTrue(grant.tokens().first() >= 1);
    }

    /** A held lock is refused to another owner token, from the same and from another client. */
    @Test
    default void acquireRefusesAHeldLock(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("held");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        store.busy(name);
        AcquireReply.Busy elsewhere = bench.store().busy(name);
        Holder holder = elsewhere.holder();
        if (holder != null) {
            assertEquals(StoreDriver.HOLDER, holder.id());
            holder.fencingToken().ifPresent(token -> assertEquals(grant.tokens().first(), token));
        }
    }

    /** The retry after a lost reply finds its own lock, and its token does not go down. */
    @Test
    default void acquireRecognisesItsOwnToken(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("own");
        OwnerToken owner = store.owner();
        Grant first = store.granted(name, owner, LONG_TTL);
        Grant again = store.granted(name, owner, LONG_TTL);
        assertTrue(again.tokens().first() >= first.tokens().first(), "the token went down in the retry");
        assertInstanceOf(ReleaseReply.Released.class, store.release(name, again));
        Grant next = store.granted(name, store.owner(), LONG_TTL);
        if (covers(store, Guarantee.Fencing.INCREASING)) {
            assertTrue(next.tokens().first() > again.tokens().last());
        }
    }

    /** Own-token recognition also works from another client side: the token alone proves ownership. */
    @Test
    default void acquireRecognisesItsOwnTokenAfterAReconnect(TckBench bench) {
        LockName name = bench.name("own-elsewhere");
        StoreDriver first = bench.store();
        OwnerToken owner = first.owner();
        first.granted(name, owner, LONG_TTL);
        bench.store().granted(name, owner, LONG_TTL);
        bench.store().busy(name);
    }

    /** Locks of different names are independent. */
    @Test
    default void acquireKeepsNamesApart(TckBench bench) {
        StoreDriver store = bench.store();
        for (int i = 0; i < 50; i++) {
            store.granted(bench.name("apart-" + i), store.owner(), LONG_TTL);
        }
        store.busy(bench.name("apart-0"));
        store.busy(bench.name("apart-49"));
    }

    /** Without renewal, a lock is free again after its ttl, and not before. */
    @Test
    default void acquireTakesOverAfterTheTtlAndNotBefore(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("expiry");
        Duration ttl = Duration.ofMillis(1_500);
        long before = System.nanoTime();
        Grant first = store.granted(name, store.owner(), ttl);
        Grant next = bench.store().grantedInTheEnd(name, LONG_TTL);
        long tookOver = System.nanoTime();
        assertTrue(
                tookOver - before >= validity(ttl),
                "taken over " + (tookOver - before) / 1_000_000 + " ms after a ttl of " + ttl + " began");
        if (covers(store, Guarantee.Fencing.INCREASING)) {
            assertTrue(next.tokens().first() > first.tokens().last());
        }
    }

    /** Fencing tokens increase over thousands of leases, over clients, and even if the request names the last one. */
    @Test
    default void acquireIncreasesFencingTokens(TckBench bench) {
        bench.needs(Guarantee.Fencing.INCREASING);
        StoreDriver[] stores = {bench.store(), bench.store()};
        LockName name = bench.name("tokens");
        long last = 0;
        for (int i = 0; i < 2_000; i++) {
            StoreDriver store = stores[(i / 3) % 2];
            Grant grant =
                    store.granted(store.request(name, store.owner(), LONG_TTL).seenToken(i % 2 == 0 ? last : 0));
            assertTrue(grant.tokens().first() > last, "token " + grant.tokens().first() + " follows " + last);
            last = grant.tokens().last();
            assertInstanceOf(ReleaseReply.Released.class, store.release(name, grant));
        }
    }

    /** A grant may reserve tokens for leases after each other; none of them is granted again. */
    @Test
    default void acquireReservesARangeOfTokens(TckBench bench) {
        bench.needs(Guarantee.Fencing.INCREASING);
        StoreDriver store = bench.store();
        LockName name = bench.name("range");
        long last = 0;
        for (int reserve : new int[] {1, 5, 64, 2, 1, 64, 1}) {
            Grant grant =
                    store.granted(store.request(name, store.owner(), LONG_TTL).reserve(reserve));
            assertNotNull(grant.tokens());
            assertTrue(grant.tokens().first() > last, "token " + grant.tokens().first() + " follows " + last);
            assertTrue(grant.tokens().last() - grant.tokens().first() < reserve, "more tokens than were reserved");
            last = grant.tokens().last();
            store.release(name, grant);
        }
    }

    private static boolean covers(StoreDriver store, Guarantee level) {
        return store.store().guarantees().covers(level);
    }

    private static long validity(Duration ttl) {
        return ttl.toNanos() - ttl.toNanos() / 100 - 2_000_000;
    }
}
