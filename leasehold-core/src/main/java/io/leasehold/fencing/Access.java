package io.leasehold.fencing;

import io.leasehold.Lease;

/**
 * The kind of the lease under which a holder uses a resource.
 *
 * <p>It is the kind of the <em>lease</em>, not of the operation: the holder of an exclusive lease passes {@link #WRITE}
 * also when it only reads. An admission without a kind is {@code WRITE}.
 *
 * <p>The reverse is not allowed: an admission as {@link #READ} permits reading only. Readers do not exclude each other,
 * so of two that both change the resource, one would write over the other unnoticed. A service refuses a request that
 * changes something and comes as a reader's.
 */
public enum Access {
    /** A read lease: other readers may hold the lock at the same time, and writers may not. */
    READ,
    /** An exclusive lease. */
    WRITE;

    /** Returns the kind of this lease: that of {@link io.leasehold.SharedLock#read()} is {@link #READ}. */
    public static Access of(Lease lease) {
        return lease.lockName().isRead() ? READ : WRITE;
    }
}
