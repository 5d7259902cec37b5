package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.function.Function;
import javax.sql.DataSource;

/** Lets chaos runs open stores as users do, but for the retention: housekeeping has to happen within a run. */
public final class StoresOfShortRetention {

    private StoresOfShortRetention() {}

    /** A store with a connection of its own. */
    public static Function<LockRuntime, LockStore> connecting(String url, Duration retention) {
        String redacted = StoreUri.parse(url).redacted();
        return runtime -> JdbcStores.connect(url, redacted, dialect(url), null, runtime, retention);
    }

    /** A store over the connections of a pool to this URL. */
    public static Function<LockRuntime, LockStore> over(DataSource pool, String url, Duration retention) {
        return runtime -> JdbcStores.over(pool, dialect(url), runtime, retention);
    }

    private static Dialect dialect(String url) {
        return (url.startsWith("jdbc:mariadb:") ? SqlDialect.MARIADB : SqlDialect.POSTGRESQL).statements();
    }
}
