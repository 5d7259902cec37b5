package io.leasehold.jdbc.row;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How a database locks rows.
 *
 * @param database its name, for messages
 * @param timed how a bounded wait is requested
 * @param busyStates SQL states that mean that another transaction has the row
 * @param busyCodes error codes that mean the same
 * @param abortedCodes error codes that mean that the transaction was aborted, like all SQL states that begin with 40
 * @param errorsAbort whether an error aborts the whole transaction, so that a savepoint must preserve it
 * @param waitCosts a query for whether a wait that is too long costs the whole transaction; null if it never does
 */
public record RowDialect(
        String database,
        Timed timed,
        Set<String> busyStates,
        Set<Integer> busyCodes,
        Set<Integer> abortedCodes,
        boolean errorsAbort,
        @Nullable String waitCosts) {

    /** Lock wait timeout; on MariaDB also a busy row for which the statement must not wait. */
    private static final int WAITED_TOO_LONG = 1205;

    /** The ways to request a bounded wait. */
    public enum Timed {
        /** {@code FOR UPDATE WAIT 1.5}: seconds with a fraction. */
        IN_THE_STATEMENT,
        /** {@code FOR UPDATE WAIT 2}: whole seconds, rounded up. */
        IN_WHOLE_SECONDS,
        /** A setting of the transaction, in milliseconds: it ends with the transaction. */
        BY_LOCK_TIMEOUT,
        /**
         * A setting of the session, in whole seconds, rounded up: it outlives the transaction, and returns to the pool.
         */
        BY_SESSION_SECONDS
    }

    private static final String ROLLBACK_ON_TIMEOUT = "SELECT @@innodb_rollback_on_timeout";

    private static final RowDialect H2 =
            new RowDialect("H2", Timed.IN_THE_STATEMENT, Set.of("HYT00"), Set.of(50200), Set.of(), false, null);
    private static final RowDialect POSTGRESQL =
            new RowDialect("PostgreSQL", Timed.BY_LOCK_TIMEOUT, Set.of("55P03"), Set.of(), Set.of(), true, null);
    private static final RowDialect MARIADB = innoDb("MariaDB", Timed.IN_WHOLE_SECONDS);
    private static final RowDialect MYSQL = innoDb("MySQL", Timed.BY_SESSION_SECONDS);

    private static RowDialect innoDb(String database, Timed timed) {
        return new RowDialect(
                database,
                timed,
                Set.of(),
                Set.of(WAITED_TOO_LONG, 3572),
                Set.of(InnoDb.CHANGED_SINCE_READ),
                false,
                ROLLBACK_ON_TIMEOUT);
    }

    /**
     * The dialect of the database behind the connection.
     *
     * @throws IllegalArgumentException if its rows cannot be locked
     */
    public static RowDialect of(Connection connection) throws SQLException {
        return ofProduct(String.valueOf(connection.getMetaData().getDatabaseProductName()));
    }

    /**
     * The dialect of the database with this product name.
     *
     * @throws IllegalArgumentException if its rows cannot be locked
     */
    public static RowDialect ofProduct(String product) {
        return switch (product.toLowerCase(Locale.ROOT)) {
            case "h2" -> H2;
            case "postgresql" -> POSTGRESQL;
            case "mariadb" -> MARIADB;
            case "mysql" -> MYSQL;
            case "sqlite" ->
                throw new IllegalArgumentException(
                        "SQLite locks whole files, not rows: BEGIN IMMEDIATE is its lock, and only one writes at a"
                                + " time");
            default ->
                throw new IllegalArgumentException("rows of \"" + product
                        + "\" cannot be locked by this version, which knows H2, PostgreSQL, MariaDB and MySQL");
        };
    }

    /** Whether another transaction has the row. */
    public boolean isBusy(SQLException e) {
        return busyCodes.contains(e.getErrorCode())
                || (e.getSQLState() != null && busyStates.contains(e.getSQLState()));
    }

    /** Whether the database has aborted the transaction, for a deadlock or a serialization failure. */
    public boolean isAborted(SQLException e) {
        // MySQL's own driver reports a wait that is too long with the state of an aborted transaction, but the
        // transaction continues.
        return abortedCodes.contains(e.getErrorCode())
                || (e.getSQLState() != null
                        && e.getSQLState().startsWith("40")
                        && !busyCodes.contains(e.getErrorCode()));
    }

    /** Whether the database has rolled back the whole transaction because another transaction has the row. */
    public boolean isCostly(SQLException busy, Connection connection) throws SQLException {
        if (waitCosts == null || busy.getErrorCode() != WAITED_TOO_LONG) {
            return false;
        }
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(waitCosts)) {
            return row.next() && row.getBoolean(1);
        }
    }
}
