package io.leasehold.testkit.tck;

import static io.leasehold.testkit.tck.TckBench.LONG_TTL;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests of waiting at the store: recording waiters, waking them, keeping their places, leaving. */
public interface WaitingTck extends SharesStore {

    /** A request that would wait is answered at once, and gets the lock by asking again. */
    @Test
    default void waitingRequestGetsTheLockByAskingAgain(TckBench bench) {
        StoreDriver store = bench.store();
        StoreDriver other = bench.store();
        LockName name = bench.name("again");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        OwnerToken waiter = other.owner();
        AcquireReply reply = other.acquire(waiting(other, name, waiter));
        if (!(reply instanceof AcquireReply.Queued)) {
            assertInstanceOf(AcquireReply.Busy.class, reply);
        }
        store.release(name, grant);
        TckBench.until(
                "the waiter is granted",
                () -> other.acquire(waiting(other, name, waiter)) instanceof AcquireReply.Granted);
    }

    /** The release of the holder wakes a queued waiter, at stores that wake waiters. */
    @Test
    default void releaseWakesAWaiter(TckBench bench) {
        bench.needs(Guarantee.Queueing.WAKE_UP);
        StoreDriver store = bench.store();
        StoreDriver other = bench.store();
        LockName name = bench.name("wake");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        OwnerToken waiter = other.owner();
        assertInstanceOf(AcquireReply.Queued.class, other.acquire(waiting(other, name, waiter)));
        store.release(name, grant);
        TckBench.until("the waiter is woken", () -> other.wasWoken(name));
        other.granted(waiting(other, name, waiter));
    }

    /**
     * At stores that promise an order, the lock goes to the first waiter, and not to the one that asks first after the
     * release.
     */
    @Test
    default void waitersAreServedInTheOrderTheyCame(TckBench bench) {
        bench.needs(Guarantee.Queueing.FIFO);
        StoreDriver store = bench.store();
        StoreDriver other = bench.store();
        LockName name = bench.name("order");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        OwnerToken first = other.owner();
        OwnerToken second = store.owner();
        OwnerToken third = other.owner();
        assertInstanceOf(AcquireReply.Queued.class, other.acquire(waiting(other, name, first)));
        assertInstanceOf(AcquireReply.Queued.class, store.acquire(waiting(store, name, second)));
        assertInstanceOf(AcquireReply.Queued.class, other.acquire(waiting(other, name, third)));
        // Asking again keeps the place.
        assertInstanceOf(AcquireReply.Queued.class, other.acquire(waiting(other, name, first)));
        store.release(name, grant);
        assertInstanceOf(AcquireReply.Queued.class, other.acquire(waiting(other, name, third)));
        assertInstanceOf(AcquireReply.Queued.class, store.acquire(waiting(store, name, second)));
        Grant toFirst = other.granted(waiting(other, name, first));
        other.release(name, toFirst);
        Grant toSecond = store.granted(waiting(store, name, second));
        store.release(name, toSecond);
        other.granted(waiting(other, name, third));
    }

    /** A waiter that leaves frees its place, and cannot be granted by staying in the queue. */
    @Test
    default void undoWithdrawsAWaiter(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("withdraw");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        OwnerToken leaving = store.owner();
        AcquireReply reply = store.acquire(waiting(store, name, leaving));
        assertInstanceOf(ReleaseReply.NotOurs.class, store.undo(name, leaving, reply.ballot()));
        store.release(name, grant);
        store.granted(name, store.owner(), LONG_TTL);
    }

    /** A waiter that never asks again does not block the lock forever. */
    @Test
    default void silentWaitersAreForgotten(TckBench bench) {
        StoreDriver store = bench.store();
        LockName name = bench.name("silent");
        Grant grant = store.granted(name, store.owner(), LONG_TTL);
        store.acquire(store.request(name, store.owner(), LONG_TTL)
                .waiting(Duration.ofMillis(200).toNanos()));
        store.release(name, grant);
        bench.store().grantedInTheEnd(name, LONG_TTL);
    }

    private static AcquireRequest waiting(StoreDriver store, LockName name, OwnerToken owner) {
        return store.request(name, owner, LONG_TTL)
                .waiting(Duration.ofMinutes(5).toNanos());
    }
}
