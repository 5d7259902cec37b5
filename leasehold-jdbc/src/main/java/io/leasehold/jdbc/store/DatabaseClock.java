package io.leasehold.jdbc.store;

import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;

/** The wall clock of the database server. */
public final class DatabaseClock implements StoreClock {

    private static final String KIND = "database";

    private final LockRuntime runtime;
    private final String query;

    /**
     * Reads the database's time.
     *
     * @param query answers microseconds since 1970
     */
    public DatabaseClock(LockRuntime runtime, String query) {
        this.runtime = runtime;
        this.query = query;
    }

    @Override
    public String kind() {
        return KIND;
    }

    /** Databases let time stand still inside a transaction, so it could not be read later. */
    @Override
    public boolean isReadBeforeTransaction() {
        return true;
    }

    @Override
    public StoreTime read(LeaseTable table) throws SQLException {
        long readAtNanos = runtime.nanoTime();
        long micros = table.number(query);
        return new StoreTime(KIND, micros * 1000, micros, readAtNanos);
    }
}
