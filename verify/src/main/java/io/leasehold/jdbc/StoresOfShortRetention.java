package io.leasehold.jdbc;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.function.Function;
import javax.sql.DataSource;

/** Opens stores for chaos runs as applications do, except for the retention: housekeeping must happen within a run. */
public final class StoresOfShortRetention {

    private StoresOfShortRetention() {}

    /** Creates a store with a connection of its own. */
    public static Function<LockRuntime, LockStore> connecting(String url, Duration retention) {
        String redacted = StoreUri.parse(url).redacted();
        return runtime -> JdbcStores.connect(url, redacted, dialect(url), null, runtime, retention);
    }

    /** Creates a store over the connections of a pool to this URL. */
    public static Function<LockRuntime, LockStore> over(DataSource pool, String url, Duration retention) {
        return runtime -> JdbcStores.over(pool, dialect(url), runtime, retention);
    }

    private static Dialect dialect(String url) {
        return (url.startsWith("jdbc:mariadb:") ? SqlDialect.MARIADB : SqlDialect.POSTGRESQL).statements();
    }
}
