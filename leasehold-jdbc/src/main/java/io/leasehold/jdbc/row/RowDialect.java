package io.leasehold.jdbc.row;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;

/**
 * How a database locks rows.
 *
 * @param database its name, for people
 * @param timed how a bounded wait is asked for
 * @param busyStates SQL states that mean: somebody else has the row
 * @param busyCodes error codes that mean the same
 * @param errorsAbort whether an error spoils the whole transaction, so that a savepoint has to keep it
 */
public record RowDialect(
        String database, Timed timed, Set<String> busyStates, Set<Integer> busyCodes, boolean errorsAbort) {

    /** How a bounded wait is asked for. */
    public enum Timed {
        /** {@code FOR UPDATE WAIT 1.5}: seconds with a fraction. */
        IN_THE_STATEMENT,
        /** {@code FOR UPDATE WAIT 2}: whole seconds, rounded up. */
        IN_WHOLE_SECONDS,
        /** A setting of the transaction, in milliseconds. */
        BY_LOCK_TIMEOUT,
        /** A setting of the session, in whole seconds, rounded up. */
        BY_SESSION_SECONDS
    }

    private static final RowDialect H2 =
            new RowDialect("H2", Timed.IN_THE_STATEMENT, Set.of("HYT00"), Set.of(50200), false);
    private static final RowDialect POSTGRESQL =
            new RowDialect("PostgreSQL", Timed.BY_LOCK_TIMEOUT, Set.of("55P03"), Set.of(), true);
    private static final RowDialect MARIADB =
            new RowDialect("MariaDB", Timed.IN_WHOLE_SECONDS, Set.of(), Set.of(1205, 3572), false);
    private static final RowDialect MYSQL =
            new RowDialect("MySQL", Timed.BY_SESSION_SECONDS, Set.of(), Set.of(1205, 3572), false);

    /**
     * The dialect of the database behind the connection.
     *
     * @throws IllegalArgumentException if its rows cannot be locked
     */
    public static RowDialect of(Connection connection) throws SQLException {
        String product = String.valueOf(connection.getMetaData().getDatabaseProductName());
        return switch (product.toLowerCase(Locale.ROOT)) {
            case "h2" -> H2;
            case "postgresql" -> POSTGRESQL;
            case "mariadb" -> MARIADB;
            case "mysql" -> MYSQL;
            case "sqlite" ->
                throw new IllegalArgumentException(
                        "SQLite locks whole files, not rows: BEGIN IMMEDIATE is its lock, and only one writes at a time");
            default ->
                throw new IllegalArgumentException("rows of \"" + product
                        + "\" cannot be locked by this version, which knows H2, PostgreSQL, MariaDB and MySQL");
        };
    }

    /** Whether somebody else has the row. */
    public boolean isBusy(SQLException e) {
        return busyCodes.contains(e.getErrorCode())
                || (e.getSQLState() != null && busyStates.contains(e.getSQLState()));
    }

    /** Whether the database has given up the transaction: deadlock, or it cannot be put into an order with others. */
    public boolean isAborted(SQLException e) {
        return e.getSQLState() != null && e.getSQLState().startsWith("40");
    }
}
