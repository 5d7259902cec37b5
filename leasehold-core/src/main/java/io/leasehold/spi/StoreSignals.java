package io.leasehold.spi;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import java.util.List;

/**
 * Receives a store's signals for the engine. Called on any thread; returns at once.
 *
 * <p>Signals are hints: they may be lost, late, duplicated or wrong, and cost no more than a recheck. Only {@link
 * #claimed} and {@link #lost} are believed.
 */
public interface StoreSignals {

    /** A listener that ignores every signal, for the time before the engine listens. */
    StoreSignals NONE = new StoreSignals() {
        @Override
        public void wake(LockName name) {}

        @Override
        public void lost(OwnerToken owner, LossCause cause) {}

        @Override
        public void reconnected() {}
    };

    /** A new request for this lock may succeed. */
    void wake(LockName name);

    /**
     * The lock was handed over to a waiter of this client or of another: if it still waits, its next request is
     * granted. Sent for waiters that requested hand-over by {@link AcquireRequest#claiming}.
     */
    default void handedOver(HandOver handOver) {
        wake(handOver.name());
    }

    /**
     * The lock was handed over to a waiter of this client, and the store has proved since when the waiter has it. The
     * engine may begin the lease without a request, and then asks for the full ttl by a renewal. Unlike the other
     * signals, this one is believed.
     *
     * @return whether a lease has begun; if not, {@link #handedOver} follows
     */
    default boolean claimed(Claim claim) {
        return false;
    }

    /**
     * The store knows that this owner token no longer holds the lock: it was released by force, or its session ended.
     * The engine ends the lease at once.
     */
    void lost(OwnerToken owner, LossCause cause);

    /**
     * An operator may have released this lock of this client by force. This is only a hint, since any client could send
     * it. The engine renews a hold of this name at once, and the hold is lost if the store answers that it is gone.
     */
    default void takenAway(LockName name) {}

    /**
     * The store may no longer keep these holds. This is only a hint, for example of a server that reports changes to a
     * key. The engine renews the holds at once and together, and a hold is lost if the store answers that it is gone.
     */
    default void doubted(List<DoubtedHold> holds) {}

    /**
     * The store has lost contact with the session or watch that keeps this owner token's hold, for an unknown time. The
     * engine reports the risk to the holder at once, and keeps renewing. The hold may survive.
     */
    default void suspended(OwnerToken owner) {}

    /** The store can be reached again: pending retries are sent now. */
    void reconnected();

    /** The standing of a node of the store has changed: for the listeners of the client. */
    default void nodeChanged(LockListener.NodeChanged event) {}
}
