package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.StoreTime;
import java.sql.SQLException;

/** The clock of a lease table, the same for all its users. */
public sealed interface StoreClock permits MachineClock, DatabaseClock {

    /** Its kind; all users of a lease table must have the same. */
    String kind();

    /** The time. Inside a transaction it is read once. */
    StoreTime read(LeaseTable table) throws SQLException;

    /**
     * Reads a time that is not before the rows found in this transaction were locked. With an earlier time, this client
     * would change rows that another client has written since, by a later clock.
     *
     * @param askedAtNanos this process's {@code LockRuntime.nanoTime()} before the rows were requested
     */
    StoreTime readBehindRows(LeaseTable table, long askedAtNanos) throws SQLException;
}
