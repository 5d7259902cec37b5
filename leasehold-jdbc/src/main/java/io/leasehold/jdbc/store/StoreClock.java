package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.StoreTime;
import java.sql.SQLException;

/** The clock by which a lease table lives: the same for all its users. */
public sealed interface StoreClock permits MachineClock, DatabaseClock {

    /** What kind it is; all users of a lease table must have the same. */
    String kind();

    /**
     * Whether it is read before the transaction begins: most databases let time stand still inside one. A time that is earlier than that of the row's lock is safe:
     * the lease then ends earlier, for its holder as for everybody else.
     */
    boolean isReadBeforeTransaction();

    /** The time. */
    StoreTime read(LeaseTable table) throws SQLException;
}
