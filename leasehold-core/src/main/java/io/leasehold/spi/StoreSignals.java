package io.leasehold.spi;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;

/**
 * Receives a store's signals for the engine. Called on any thread; returns at once.
 *
 * <p>Signals are hints: they may be lost, late, doubled or wrong, and cost no more than a recheck.
 */
public interface StoreSignals {

    /** Ignores every signal, as a store does before its engine listens. */
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
     * A waiter of this client, or of another, was given the lock: if it still waits, its next request is granted. Sent for
     * waiters that requested hand-over by {@link AcquireRequest#claiming}.
     */
    default void handedOver(HandOver handOver) {
        wake(handOver.name());
    }

    /**
     * The store knows that this owner token no longer holds the lock: it was taken by force, or its session ended. The engine ends the lease at once.
     */
    void lost(OwnerToken owner, LossCause cause);

    /**
     * An operator may have taken this lock from this client. Only a hint, since any client could send it: a hold of this name
     * is renewed at once, and is lost if the store answers that it is gone.
     */
    default void takenAway(LockName name) {}

    /**
     * The store has lost contact with the session or watch that keeps this owner token's hold, for an unknown time: the engine
     * tells the holder at once that it is at risk, and goes on renewing. The hold may survive.
     */
    default void suspended(OwnerToken owner) {}

    /** The store can be reached again: pending retries are sent now. */
    void reconnected();

    /** The standing of a node of the store has changed: for the listeners of the client. */
    default void nodeChanged(LockListener.NodeChanged event) {}
}
