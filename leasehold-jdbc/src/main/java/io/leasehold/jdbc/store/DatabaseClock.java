package io.leasehold.jdbc.store;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;

/** The wall clock of the database server. */
public final class DatabaseClock implements StoreClock {

    private static final String KIND = "database";

    private final LockRuntime runtime;
    private final Dialect.DatabaseTime time;

    /**
     * Reads the database's time.
     */
    public DatabaseClock(LockRuntime runtime, Dialect.DatabaseTime time) {
        this.runtime = runtime;
        this.time = time;
    }

    @Override
    public String kind() {
        return KIND;
    }

    @Override
    public StoreTime read(LeaseTable table) throws SQLException {
        long readAtNanos = runtime.nanoTime();
        long micros = table.number(time.micros());
        return new StoreTime(KIND, micros * 1000, micros, readAtNanos);
    }

    @Override
    public StoreTime readBehindRows(LeaseTable table, long askedAtNanos) throws SQLException {
        Long micros = time.comesWithRows() ? table.rowMicros() : null;
        return micros == null ? read(table) : new StoreTime(KIND, micros * 1000, micros, askedAtNanos);
    }
}
