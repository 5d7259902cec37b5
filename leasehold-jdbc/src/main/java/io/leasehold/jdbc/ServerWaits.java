package io.leasehold.jdbc;

import io.leasehold.jdbc.store.KeptConnection;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * How long a database server may say nothing. A connection may be dead without a word (a firewall that forgot it, a host that
 * vanished), and drivers wait for an answer for ever unless they are told not to.
 */
final class ServerWaits {

    /** A connection that is being opened: for logging in, and for looking at the tables. */
    static final long OPENING_NANOS = 10_000_000_000L;

    /** Leaves half a second of the 3 s that a request has by default for another connection. */
    private static final long MAX_NANOS = 2_500_000_000L;

    /** PostgreSQL gives up a wait for a row after half of this. */
    private static final long POSTGRESQL_MIN_NANOS = 500_000_000L;

    private ServerWaits() {}

    /** How long the worker waits for an answer: always longer than a statement may wait for a row. */
    static KeptConnection.Patience of(@Nullable SqlDialect dialect) {
        return new KeptConnection.Patience(
                dialect == SqlDialect.POSTGRESQL ? POSTGRESQL_MIN_NANOS : MAX_NANOS, MAX_NANOS);
    }

    /**
     * For sessions of our own: a statement by which the server ends the transaction of a client that vanished in the middle of
     * it, and gives its rows free. Null where transactions say so themselves, or nothing can.
     */
    static @Nullable String sessionLimit(@Nullable SqlDialect dialect) {
        return dialect == SqlDialect.MARIADB ? "SET SESSION idle_transaction_timeout = 5" : null;
    }

    /** For connections of our own: what the driver is told where the URL says nothing of it. */
    static Properties defaults(@Nullable SqlDialect dialect, String url) {
        if (dialect == null) {
            return new Properties();
        }
        Map<String, String> defaults = switch (dialect) {
            case POSTGRESQL -> Map.of("connectTimeout", "5", "socketTimeout", "10", "tcpKeepAlive", "true");
            case MARIADB, MYSQL -> Map.of("connectTimeout", "5000", "socketTimeout", "10000", "tcpKeepAlive", "true");
            // It cannot be told later, so this is what a request gets.
            case H2 -> Map.of("NETWORK_TIMEOUT", String.valueOf(MAX_NANOS / 1_000_000));
        };
        Properties properties = new Properties();
        String said = url.toLowerCase(Locale.ROOT);
        defaults.forEach((name, value) -> {
            if (!said.contains(name.toLowerCase(Locale.ROOT) + "=")) {
                properties.setProperty(name, value);
            }
        });
        return properties;
    }
}
