package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.List;

/** How waiters learn that asking again is worth it. Used by the worker's thread, but for {@link #close}. */
interface Waking {

    /** They are not: they poll. */
    Waking NONE = new Waking() {};

    /** Whether waiters are woken now; if not, they are to poll. */
    default boolean isReady() {
        return false;
    }

    /**
     * The owner token waits for these locks.
     *
     * @param forNanos after this it would have asked again if it still waited
     * @param lookInNanos when the locks may become free without a change
     */
    default void add(OwnerToken owner, List<LockName> names, long forNanos, long lookInNanos) {}

    /** The owner token waits no more. */
    default void forget(OwnerToken owner) {}

    /**
     * This client changes a lock, in the transaction that is open.
     *
     * @param before the row as it was
     */
    default void changed(LeaseRow before, LeaseTable table) throws SQLException {}

    /** Ends: no waiter is woken any more. */
    default void close() {}
}
