package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.time.Duration;
import javax.sql.DataSource;

/** Opens stores for the simulator as applications do, except for the retention: rows must be deleted within a run. */
public final class StoresOverModel {

    private StoresOverModel() {}

    /**
     * Creates a store like {@link JdbcStores#over}, with a retention: rows that were not used for this time are
     * deleted.
     */
    public static LockStore open(DataSource source, SqlDialect dialect, LockRuntime runtime, Duration retention) {
        return JdbcStores.over(source, dialect.statements(), runtime, retention);
    }

    /** The statements of such a store. */
    public static Dialect statements(SqlDialect dialect) {
        return dialect.statements();
    }
}
