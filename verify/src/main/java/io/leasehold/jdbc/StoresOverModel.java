package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Duration;
import javax.sql.DataSource;

/** Lets the simulator open stores as users do, but for the retention: rows are to be deleted within a run. */
public final class StoresOverModel {

    private StoresOverModel() {}

    /** A store as {@link JdbcStores#over} makes it, with a retention: rows that were not used for so long are deleted. */
    public static LockStore open(DataSource source, SqlDialect dialect, LockRuntime runtime, Duration retention) {
        return JdbcStores.over(source, dialect.statements(), runtime, retention);
    }

    /** The statements that such a store says. */
    public static Dialect statements(SqlDialect dialect) {
        return dialect.statements();
    }
}
