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
 * The way in which a client process reaches its store.
 *
 * @param uri the URI of the store
 * @param retention how long a lease table keeps unused rows; null for the default
 * @param pool the number of connections in the pool that the store shares with an application; 0 if it has its own
 */
public record StoreAccess(String uri, @Nullable Duration retention, int pool) {

    private static final String POSTGRESQL = "jdbc:postgresql:";
    private static final String URI = "LEASEHOLD_VERIFY_STORE";
    private static final String RETENTION = "LEASEHOLD_VERIFY_RETENTION_MS";
    private static final String POOL = "LEASEHOLD_VERIFY_POOL";

    /** Opens the store as applications do. */
    public static StoreAccess of(String uri) {
        return new StoreAccess(uri, null, 0);
    }

    /** Reads the settings of the parent process. */
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

    /** A client, and the resource to be closed after it. */
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

    /** Opens a client. */
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
     * The URI without the driver's limit on silence, so that only the store can detect a connection that falls silent.
     * Only the driver limits the login: MariaDB's by its connectTimeout, PostgreSQL's by a limit that it lacks by
     * default.
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
        // The network may be down at the moment.
        configuration.setInitializationFailTimeout(-1);
        boolean inSeconds = uri.startsWith(POSTGRESQL);
        configuration.addDataSourceProperty("connectTimeout", inSeconds ? "5" : "5000");
        configuration.addDataSourceProperty("socketTimeout", inSeconds ? "10" : "10000");
        return configuration;
    }
}
