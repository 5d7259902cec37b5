package io.leasehold;

import java.util.List;

/**
 * Several locks held together, with a fencing token for each.
 *
 * <p>It is valid while every part is; it is lost with the first part that is. Releasing it releases every part, even if others
 * fail: {@link ReleaseOutcome#RELEASED} only if all were.
 */
public interface MultiLease extends Hold {

    /** The locks, sorted. */
    List<LockName> lockNames();

    /**
     * The token for one of the locks; see {@link Lease#fencingToken()}.
     *
     * @throws IllegalArgumentException if it is not one of them
     */
    long fencingToken(LockName name);

    /**
     * As {@link #fencingToken(LockName)}, for the lock with exactly this name.
     *
     * @throws IllegalArgumentException if it is not one of them
     */
    default long fencingToken(String name) {
        return fencingToken(LockName.exactly(name));
    }
}
