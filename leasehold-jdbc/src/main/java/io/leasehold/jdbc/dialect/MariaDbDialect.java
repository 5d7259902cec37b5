package io.leasehold.jdbc.dialect;

import io.leasehold.Guarantee;
import java.sql.SQLException;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** MariaDB 10.6 and newer, and MySQL 8.0 and newer, which limit a wait for a row in different ways. */
public final class MariaDbDialect {

    private static final String KEEP = """
        INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES (?, ?, ?, ?)
            ON DUPLICATE KEY UPDATE
            origin = VALUES(origin), expires_at = VALUES(expires_at), told = VALUES(told)\
        """;

    /** A limit for one statement only; the session does not change. */
    private static final String DO_NOT_WAIT = "SET STATEMENT lock_wait_timeout=1, innodb_lock_wait_timeout=0 FOR ";

    private MariaDbDialect() {}

    /**
     * MariaDB. Without a limit, a statement waits 50 s for a row, or a gap between rows, that another transaction has
     * locked.
     */
    public static Dialect mariaDb() {
        return dialect(
                "MariaDB",
                "org.mariadb.jdbc:mariadb-java-client",
                new StandardStatements(" FOR UPDATE", " FOR UPDATE SKIP LOCKED", DO_NOT_WAIT),
                Dialect.Tuning.NONE,
                "SET SESSION idle_transaction_timeout = 5");
    }

    /** MySQL, where such a limit belongs to the session. */
    public static Dialect mySql() {
        return dialect("MySQL", "com.mysql:mysql-connector-j", new StandardStatements(), new MySqlWaits(), null);
    }

    private static Dialect dialect(
            String database,
            String driver,
            StandardStatements statements,
            Dialect.Tuning tuning,
            @Nullable String begin) {
        Dialect.Store store = statements.store("mariadb.sql");
        return new Dialect(
                database,
                driver,
                // The time at which the query began, even inside a transaction. Not UNIX_TIMESTAMP(NOW(6)), which uses
                // the local time: that jumps twice a year.
                new Dialect.DatabaseTime(
                        "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))", false),
                new Dialect.ByDriver(null),
                statements.leases(),
                store,
                statements.clients(store.create(), KEEP),
                Dialect.Polling.INSTANCE,
                null,
                tuning,
                new Dialect.Connecting(
                        Map.of("connectTimeout", "5000", "socketTimeout", "10000", "tcpKeepAlive", "true"), begin),
                MariaDbDialect::trouble,
                url -> Guarantee.Scope.NETWORK);
    }

    /** The meaning of an error, by its code, or by SQL state if it has no code of its own. */
    private static SqlTrouble trouble(SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        return switch (e.getErrorCode()) {
            // Two first rows of one name, lock wait timeout, deadlock, record changed since, row locked.
            case 1062, 1205, 1213, 1020, 3572 -> SqlTrouble.CONTENTION;
            // No right to the database, the table or the command; wrong password; no such database.
            case 1044, 1045, 1142, 1143, 1227, 1049 -> SqlTrouble.ACCESS;
            case 1290, 1792, 1836 -> SqlTrouble.READ_ONLY;
            // Disk full, out of memory, table full.
            case 1021, 1037, 1041, 1114 -> SqlTrouble.FULL;
            // Missing table, missing column, damaged table.
            case 1146, 1054, 1034, 1035, 126, 145 -> SqlTrouble.DAMAGED;
            // KILL QUERY, max_statement_time (MariaDB), max_execution_time (MySQL); the connection remains usable.
            case 1317, 1969, 3024 -> SqlTrouble.INTERRUPTED;
            // Too many connections, shutting down, connection killed, gone.
            case 1040, 1053, 1203, 1226, 1927, 2006, 2013 -> SqlTrouble.UNREACHABLE;
            default -> {
                if (state.startsWith("40")) {
                    yield SqlTrouble.CONTENTION;
                }
                yield state.startsWith("08") || state.startsWith("70") ? SqlTrouble.UNREACHABLE : SqlTrouble.OTHER;
            }
        };
    }
}
