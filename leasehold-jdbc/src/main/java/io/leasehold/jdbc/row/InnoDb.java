package io.leasehold.jdbc.row;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.Locale;

/** The behaviour of MariaDB and MySQL that differs from other databases. */
public final class InnoDb {

    /** The row has changed since this transaction first read: {@code innodb_snapshot_isolation}. */
    static final int CHANGED_SINCE_READ = 1020;

    private static final String SERIALIZATION_FAILURE = "40001";

    private InnoDb() {}

    /** Whether this connection leads to MariaDB or MySQL. */
    public static boolean isBehind(Connection connection) throws SQLException {
        String product = String.valueOf(connection.getMetaData().getDatabaseProductName());
        return switch (product.toLowerCase(Locale.ROOT)) {
            case "mariadb", "mysql" -> true;
            default -> false;
        };
    }

    /**
     * Converts the error to JDBC's exception for a transaction that must be repeated, if that is its meaning; otherwise
     * returns the error itself.
     *
     * @param what the request, for messages
     */
    public static SQLException asJdbcSaysIt(SQLException e, Connection connection, String what) throws SQLException {
        if (e.getErrorCode() != CHANGED_SINCE_READ || !isBehind(connection)) {
            return e;
        }
        return new SQLTransactionRollbackException(
                what + ": the row has changed since this transaction first read, so roll back and repeat it ("
                        + e.getMessage() + ")",
                SERIALIZATION_FAILURE,
                CHANGED_SINCE_READ,
                e);
    }
}
