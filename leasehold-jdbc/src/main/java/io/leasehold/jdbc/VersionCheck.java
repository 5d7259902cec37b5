package io.leasehold.jdbc;

import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.OwnTransaction;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * An optimistic check in addition to a lock: a writer proves that the row has not changed since it read it.
 *
 * <pre>{@code
 * long version = versions.read(connection, id).orElseThrow();   // with the data
 * versions.advance(connection, id, version);                    // first in the transaction that writes
 * }</pre>
 *
 * <p><b>Guarantee.</b> {@code UPDATE … SET version = version + 1 WHERE id = ? AND version = ?}: of all clients that
 * have read the same version, only one advances it. With this check no update is lost even without a lock; the lock
 * saves the work of clients that would fail. The version column is a 64-bit integer that is not null.
 *
 * <p><b>Threads.</b> Any thread may use it, with its own connection. It blocks.
 */
public final class VersionCheck {

    private final Column column;

    private VersionCheck(Column column) {
        this.column = column;
    }

    /**
     * Creates a check for the rows of a table.
     *
     * @param table the table, with its schema before a dot if needed
     * @param keyColumn the unique column by which a row is found
     * @param versionColumn a 64-bit integer column, not null
     */
    public static VersionCheck of(String table, String keyColumn, String versionColumn) {
        return new VersionCheck(new Column(table, keyColumn, versionColumn));
    }

    /** The row's version, or empty if there is no such row. */
    public OptionalLong read(Connection connection, Object key) throws SQLException {
        Objects.requireNonNull(key, "key");
        String sql = "SELECT " + column.name() + " FROM " + column.table() + " WHERE " + column.key() + " = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setObject(1, key);
            try (ResultSet row = statement.executeQuery()) {
                return row.next() ? OptionalLong.of(row.getLong(1)) : OptionalLong.empty();
            }
        }
    }

    /**
     * Advances the version, and locks the row until the end of the transaction.
     *
     * @param version the version that was read
     * @throws StaleVersionException if the row has changed since, or is gone; nothing was changed
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws java.sql.SQLTransactionRollbackException if the transaction must be rolled back and repeated; some
     *     drivers report that only by the SQL state (40…)
     */
    public void advance(Connection connection, Object key, long version) throws SQLException {
        Objects.requireNonNull(key, "key");
        OwnTransaction.require(connection, "a version check");
        String sql = "UPDATE " + column.table() + " SET " + column.name() + " = " + column.name() + " + 1 WHERE "
                + column.key() + " = ? AND " + column.name() + " = ?";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setObject(1, key);
            statement.setLong(2, version);
            if (statement.executeUpdate() != 1) {
                throw new StaleVersionException(column.describe(key), version);
            }
        } catch (SQLException e) {
            throw InnoDb.asJdbcSaysIt(e, connection, column.describe(key));
        }
    }
}
