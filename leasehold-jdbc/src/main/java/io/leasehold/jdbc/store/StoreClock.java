package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.StoreTime;
import java.sql.SQLException;

/** The clock of a lease table, which is the same for all its users. */
public sealed interface StoreClock permits MachineClock, DatabaseClock {

    /** Its kind; all users of a lease table must have the same. */
    String kind();

    /** The time. Inside a transaction it is read once. */
    StoreTime read(LeaseTable table) throws SQLException;

    /**
     * A time that is not before the rows found in this transaction were locked. An earlier one would judge, and change, what
     * another client has written meanwhile by a clock that was further on.
     *
     * @param askedAtNanos this process's {@code LockRuntime.nanoTime()} before the rows were asked for
     */
    StoreTime readBehindRows(LeaseTable table, long askedAtNanos) throws SQLException;
}
