package io.leasehold.jdbc.dialect;

import io.leasehold.Guarantee;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;

/** H2 2.x, in memory, as a file or as a server. */
public final class H2Dialect {

    private static final String KEEP =
            "MERGE INTO leasehold_client (holder, origin, expires_at, told) KEY (holder) VALUES (?, ?, ?, ?)";

    private H2Dialect() {}

    /** The dialect. */
    public static Dialect dialect() {
        StandardStatements statements = new StandardStatements();
        Dialect.Store store = statements.store("h2.sql");
        return new Dialect(
                "H2",
                "com.h2database:h2",
                // The time within a transaction stands still after its first reading.
                new Dialect.DatabaseTime(
                        "SELECT CAST(EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) * 1000000 AS BIGINT)", false),
                new Dialect.ByDriver(null),
                statements.leases(),
                store,
                statements.clients(store.create(), KEEP),
                Dialect.Polling.INSTANCE,
                null,
                Dialect.Tuning.NONE,
                // Half a second less than a request has by default; it cannot be set later.
                new Dialect.Connecting(Map.of("NETWORK_TIMEOUT", "2500"), null),
                H2Dialect::trouble,
                H2Dialect::scope);
    }

    private static Guarantee.Scope scope(String url) {
        String lower = url.toLowerCase(Locale.ROOT);
        if (lower.startsWith("jdbc:h2:tcp:") || lower.startsWith("jdbc:h2:ssl:")) {
            return Guarantee.Scope.NETWORK;
        }
        return lower.contains("auto_server=true") ? Guarantee.Scope.MACHINE : Guarantee.Scope.PROCESS;
    }

    /** The meaning of an error, by SQL state and H2's error codes. */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (e.getErrorCode()) {
            // Lock timeout, deadlock, concurrent update, two first rows of one name, and two clients that make the same
            // table or index.
            case 50200, 40001, 90131, 23505, 42101, 42111 -> SqlTrouble.CONTENTION;
            // IF NOT EXISTS looks before it locks, so of two clients that make the same index, one may get an internal
            // error.
            case 50000 ->
                String.valueOf(e.getMessage()).contains("object already exists")
                        ? SqlTrouble.CONTENTION
                        : SqlTrouble.OTHER;
            // Wrong user or password, not enough rights.
            case 28000, 90096 -> SqlTrouble.ACCESS;
            case 90097 -> SqlTrouble.READ_ONLY;
            case 90100 -> SqlTrouble.FULL;
            // Broken file, missing table.
            case 90030, 42102, 42103, 42104 -> SqlTrouble.DAMAGED;
            // Closed or broken connection, database closed, in use by another process, not found.
            case 90007, 90067, 90098, 90121, 90020, 90013, 90146, 90149 -> SqlTrouble.UNREACHABLE;
            default -> state.startsWith("08") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
        };
    }
}
