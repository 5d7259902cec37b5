package io.leasehold.verify.client;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.jdbc.StoresOfShortRetention;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a client process comes to its store.
 *
 * @param uri of the store
 * @param retention how long a lease table keeps rows that nobody uses; null for that of users
 * @param pool how many connections the pool has that the store shares with an application; 0 if it has one of its own
 */
public record StoreAccess(String uri, @Nullable Duration retention, int pool) {

    private static final String POSTGRESQL = "jdbc:postgresql:";
    private static final String URI = "LEASEHOLD_VERIFY_STORE";
    private static final String RETENTION = "LEASEHOLD_VERIFY_RETENTION_MS";
    private static final String POOL = "LEASEHOLD_VERIFY_POOL";

    /** As users open it. */
    public static StoreAccess of(String uri) {
        return new StoreAccess(uri, null, 0);
    }

    /** As the parent process says. */
    static StoreAccess fromEnvironment() {
        String uri = System.getenv(URI);
        if (uri == null) {
            throw new IllegalStateException("the environment variable " + URI + " is not set");
        }
        String retention = System.getenv(RETENTION);
        return new StoreAccess(
                uri,
                retention == null ? null : Duration.ofMillis(Long.parseLong(retention)),
                Integer.parseInt(System.getenv().getOrDefault(POOL, "0")));
    }

    /** The environment that passes it to a child process. */
    public Map<String, String> environment() {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put(URI, uri);
        variables.put(POOL, Integer.toString(pool));
        if (retention != null) {
            variables.put(RETENTION, Long.toString(retention.toMillis()));
        }
        return variables;
    }

    /** A client, and what has to be closed behind it. */
    public record Opened(LockClient client, AutoCloseable behind) implements AutoCloseable {
        @Override
        public void close() {
            client.close();
            try {
                behind.close();
            } catch (Exception e) {
                throw new IllegalStateException("the pool cannot be closed", e);
            }
        }
    }

    /** Opens it. */
    public Opened connect(LockOptions options, String label) {
        Leasehold.Builder builder = Leasehold.builder().defaults(options).label(label);
        Duration kept = retention;
        if (kept == null) {
            return new Opened(builder.store(uri).connect(), () -> {});
        } else if (pool == 0) {
            return new Opened(
                    builder.store(StoresOfShortRetention.connecting(withoutLimitOfTheDriver(), kept))
                            .connect(),
                    () -> {});
        }
        HikariDataSource shared = new HikariDataSource(configuration());
        boolean connected = false;
        try {
            LockClient client = builder.store(StoresOfShortRetention.over(shared, uri, kept))
                    .connect();
            connected = true;
            return new Opened(client, PoolNeighbour.of(shared));
        } finally {
            if (!connected) {
                shared.close();
            }
        }
    }

    /**
     * So that a connection that falls silent is noticed by the store, or not at all. Logging in is bounded by the driver alone:
     * MariaDB's by its connectTimeout, PostgreSQL's by one that it does not have by itself.
     */
    private String withoutLimitOfTheDriver() {
        return uri + "&socketTimeout=0" + (uri.startsWith(POSTGRESQL) ? "&loginTimeout=10" : "");
    }

    private HikariConfig configuration() {
        HikariConfig configuration = new HikariConfig();
        configuration.setJdbcUrl(uri);
        configuration.setMaximumPoolSize(pool);
        configuration.setConnectionTimeout(2_000);
        configuration.setValidationTimeout(1_000);
        // The network may be down just now.
        configuration.setInitializationFailTimeout(-1);
        boolean inSeconds = uri.startsWith(POSTGRESQL);
        configuration.addDataSourceProperty("connectTimeout", inSeconds ? "5" : "5000");
        configuration.addDataSourceProperty("socketTimeout", inSeconds ? "10" : "10000");
        return configuration;
    }
}
