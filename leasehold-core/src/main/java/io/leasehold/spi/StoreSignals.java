package io.leasehold.spi;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;

/**
 * What a store pushes to the engine. Called on any thread; returns at once.
 *
 * <p>Signals are hints: they may be lost, late, doubled or wrong, and cost no more than a recheck.
 */
public interface StoreSignals {

    /** Asking again for this lock may be worth it. */
    void wake(LockName name);

    /**
     * A waiter of this client, or of another, was given the lock: if it still waits, it is granted when it asks again.
     * Sent for waiters that asked for it by {@link AcquireRequest#claiming}.
     */
    default void handedOver(HandOver handOver) {
        wake(handOver.name());
    }

    /**
     * The store knows that this owner token holds no more: taken by force, or its session ended. The engine
     * ends the lease at once.
     */
    void lost(OwnerToken owner, LossCause cause);

    /**
     * An operator is said to have taken this lock from this client. Only a hint, since anybody could say so: a hold of this
     * name is renewed at once, and is lost if the store says that it is gone.
     */
    default void takenAway(LockName name) {}

    /**
     * The store has lost contact to what keeps this owner token's hold (its session, its watch), and does not know for how
     * long: the engine tells the holder at once that it is at risk, and goes on renewing. The hold may outlive it.
     */
    default void suspended(OwnerToken owner) {}

    /** The store can be reached again: what is to be repeated is repeated now. */
    void reconnected();

    /** What a node of the store counts for has changed: for those who listen to the client. */
    default void nodeChanged(LockListener.NodeChanged event) {}
}
