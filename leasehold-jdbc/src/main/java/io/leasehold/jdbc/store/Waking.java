package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.List;

/** Wakes waiters when a retry may succeed. Used by the worker's thread, except {@link #close}. */
interface Waking {

    /** No waking: waiters poll. */
    Waking NONE = new Waking() {};

    /** Whether waiters are woken now; if not, they must poll. */
    default boolean isReady() {
        return false;
    }

    /**
     * The owner token waits for these locks.
     *
     * @param forNanos the time after which it would have retried if it still waited
     * @param lookInNanos the time after which the locks may become free without a change
     */
    default void add(OwnerToken owner, List<LockName> names, long forNanos, long lookInNanos) {}

    /** The owner token no longer waits. */
    default void forget(OwnerToken owner) {}

    /**
     * Notes that this client changes a lock, in the open transaction.
     *
     * @param before the row before the change
     */
    default void changed(LeaseRow before, LeaseTable table) throws SQLException {}

    /** Ends the watch: no waiter is woken any more. */
    default void close() {}
}
