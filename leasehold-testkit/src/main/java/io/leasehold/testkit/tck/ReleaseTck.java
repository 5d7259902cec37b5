package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests of release and undo: one idempotent operation that ends everything of an owner token. */
public interface ReleaseTck extends SharesStore {

    /** A release frees the lock; repeated, it reports that nothing was left, and frees nothing. */
    @Test
    default void releaseFreesOnce(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("once");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(ReleaseReply.Released.class, store.release(name, grant));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, grant));
        Grant next = bench.store().granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, grant));
        store.busy(name);
        assertInstanceOf(RenewReply.Renewed.class, store.renew(name, next.owner(), LONG_TTL));
    }

    /** A release that comes after expiry and takeover leaves the new holder alone. */
    @Test
    default void releaseAfterTakeoverIsHarmless(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("late");
        Grant old = store.granted(name, store.owner(), Duration.ofSeconds(1));
        Grant next = bench.store().grantedInTheEnd(name, LONG_TTL);
        assertInstanceOf(ReleaseReply.NotOurs.class, store.release(name, old));
        store.busy(name);
        assertInstanceOf(ReleaseReply.Released.class, store.release(name, next));
    }

    /** An undo ends a grant like a release does. */
    @Test
    default void undoAfterAnAcquireFrees(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("undo");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(
                ReleaseReply.Released.class,
                store.undo(name, grant.owner(), grant.tokens().last()));
        Grant next = store.granted(name, store.owner(), LONG_TTL);
        if (store.store().guarantees().covers(Guarantee.Fencing.INCREASING)) {
            assertTrue(next.tokens().first() > grant.tokens().last());
        }
    }

    /** An undo of what never arrived does no harm, on a free lock and on one that another client holds. */
    @Test
    default void undoInsteadOfAnAcquireIsHarmless(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("instead");
        assertInstanceOf(ReleaseReply.NotOurs.class, store.undo(name, store.owner(), 0));
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        assertInstanceOf(ReleaseReply.NotOurs.class, store.undo(name, store.owner(), 0));
        assertInstanceOf(
                ReleaseReply.NotOurs.class,
                store.undo(name, store.owner(), grant.tokens().last()));
        store.busy(name);
        assertInstanceOf(ReleaseReply.Released.class, store.release(name, grant));
    }

    /** After the undo of a busy attempt, with its proposed ballots, tokens keep increasing. */
    @Test
    default void undoOfABusyAttemptKeepsTokensIncreasing(TckBench bench) {
        bench.needs(Guarantee.Fencing.INCREASING);
        StoreDriver store = bench.store();
        LockName name = bench.name("busy-undo");
        long last = 0;
        for (int i = 0; i < 50; i++) {
            Grant grant = store.granted(name, store.owner(), LONG_TTL);
            assertTrue(grant.tokens().first() > last);
            OwnerToken loser = store.owner();
            AcquireReply busy = store.acquire(store.request(name, loser, LONG_TTL)
                    .reserve(8)
                    .seenToken(grant.tokens().last()));
            store.undo(name, loser, busy.ballot());
            assertInstanceOf(RenewReply.Renewed.class, store.renew(name, grant.owner(), LONG_TTL));
            last = grant.tokens().last();
            assertInstanceOf(ReleaseReply.Released.class, store.release(name, grant));
        }
    }
}
