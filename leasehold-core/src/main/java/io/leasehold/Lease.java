package io.leasehold;

/**
 * A held lock with a fencing token, as one caller sees it.
 *
 * <p>Pass the {@link #fencingToken()} to the guarded resource at first contact, including reads: a
 * resource that refuses tokens smaller than the largest it has seen loses no acknowledged update,
 * however long this process was paused.
 */
public interface Lease extends Hold {

    /** The lock that is held. */
    LockName lockName();

    /**
     * A positive number below 2<sup>53</sup>, larger than that of every earlier lease of the same
     * lock (as far as {@link Guarantees#fencing()} promises). It never changes during a lease.
     */
    long fencingToken();
}
