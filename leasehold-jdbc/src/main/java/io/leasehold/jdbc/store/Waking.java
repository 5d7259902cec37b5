package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.OwnerToken;
import java.sql.SQLException;
import java.util.List;

/** How waiters learn that asking again is worth it. Used by the worker's thread, but for {@link #close}. */
interface Waking {

    /** Whether waiters are woken now; if not, they are to poll. */
    boolean isReady();

    /**
     * The owner token waits for these locks.
     *
     * @param forNanos after this it would have asked again if it still waited
     * @param lookInNanos when the locks may become free without a change
     */
    void add(OwnerToken owner, List<LockName> names, long forNanos, long lookInNanos);

    /** The owner token waits no more. */
    void forget(OwnerToken owner);

    /**
     * This client changes a lock, in the transaction that is open.
     *
     * @param before the row as it was
     */
    void changed(LeaseRow before, LeaseTable table) throws SQLException;

    /** Ends: no waiter is woken any more. */
    void close();
}
