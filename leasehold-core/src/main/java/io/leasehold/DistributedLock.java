package io.leasehold;

import java.util.function.UnaryOperator;

/**
 * A named exclusive lock, shared by all clients of the same store.
 *
 * <p>Stateless and cheap: create it where you need it. The {@link Lease} is what a caller holds.
 */
public interface DistributedLock extends Acquirable<Lease> {

    /** The name. */
    LockName name();

    /** The options with which this object acquires. */
    LockOptions options();

    /** The same lock with other options; the options of the client and of leases already held do not change. */
    DistributedLock with(UnaryOperator<LockOptions> change);

    /**
     * This lock as a reentrant {@link java.util.concurrent.locks.Lock}, for code that expects one. All views of one
     * client and name share the holds of each thread.
     */
    ReentrantLockView asReentrantLock();
}
