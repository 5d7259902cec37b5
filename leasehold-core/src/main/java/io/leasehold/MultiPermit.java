package io.leasehold;

import java.util.List;

/**
 * Several {@link Permits} of one name held together, each with its slot and its fencing token.
 *
 * <p>It is valid while every permit is; it is lost with the first permit that is. Releasing it releases every permit,
 * even if others fail: {@link ReleaseOutcome#RELEASED} only if all were.
 */
public interface MultiPermit extends Hold {

    /** The name of the permits. */
    LockName lockName();

    /**
     * The numbers of the slots, ascending, as many as were requested; see {@link Permit#slot()}. They never change.
     * Local; any thread may call it.
     */
    List<Integer> slots();

    /**
     * The token for one of the slots; see {@link Lease#fencingToken()}.
     *
     * @throws IllegalArgumentException if it is not one of them
     */
    long fencingToken(int slot);
}
