package io.leasehold.jdbc;

import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingToken;
import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.OwnTransaction;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A column of the caller's own table that remembers the newest fencing token of each row.
 *
 * <pre>{@code
 * SqlFencingGuard orders = SqlFencingGuard.of("orders", "id", "fencing_token");   // BIGINT, may be null: never fenced
 * orders.admit(connection, id, lease.fencingToken()).orElseThrow();               // first in the transaction, before reading
 * }</pre>
 *
 * <p><b>Guarantee.</b> {@code UPDATE … SET fencing_token = ? WHERE id = ? AND fencing_token <= ?}: once a token was
 * admitted and its transaction committed, smaller ones are rejected. The update locks the row until the end of the
 * transaction, so what the transaction then reads and writes is one step with the check. The comparison is {@code <=}
 * and not {@code <}, since one holder may use the row many times. A null token means that no holder has used the row,
 * and admits every token. If a transaction rolls back, its registration is undone, too, but it had no effect that could
 * be lost.
 *
 * <p>Plain SQL for any database. <b>Threads.</b> Any thread may use the guard, with a connection of its own. It blocks.
 */
public final class SqlFencingGuard {

    private static final int MAX_TRIES = 5;

    private final Column column;
    private final Consumer<? super Admission> observer;

    private SqlFencingGuard(Column column, Consumer<? super Admission> observer) {
        this.column = column;
        this.observer = observer;
    }

    /**
     * Creates a guard for the rows of a table.
     *
     * @param table the table, with its schema before a dot if needed
     * @param keyColumn the unique column by which a row is found
     * @param tokenColumn a 64-bit integer column, which may be null
     */
    public static SqlFencingGuard of(String table, String keyColumn, String tokenColumn) {
        return new SqlFencingGuard(new Column(table, keyColumn, tokenColumn), admission -> {});
    }

    /**
     * Returns this guard with an observer of each answer: to count rejections, or to log them.
     *
     * @param newObserver called by the thread that presents the token; must not block
     */
    public SqlFencingGuard reportingTo(Consumer<? super Admission> newObserver) {
        return new SqlFencingGuard(column, Objects.requireNonNull(newObserver, "newObserver"));
    }

    /** The table, as the caller named it. */
    public String table() {
        return column.table();
    }

    /** The column of the tokens, as the caller named it. */
    public String tokenColumn() {
        return column.name();
    }

    /**
     * Presents a token to a row, and locks the row until the end of the transaction.
     *
     * @param key the row's key
     * @param token the fencing token of the lease
     * @return whether the holder may proceed
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws java.sql.SQLTransactionRollbackException if the transaction must be rolled back and repeated; some
     *     drivers report that only by the SQL state (40…)
     */
    public Admission admit(Connection connection, Object key, long token) throws SQLException {
        Objects.requireNonNull(key, "key");
        FencingToken.require(token);
        OwnTransaction.require(connection, "an admission");
        Admission admission;
        try {
            admission = answer(connection, key, token);
        } catch (SQLException e) {
            throw InnoDb.asJdbcSaysIt(e, connection, column.describe(key));
        }
        observer.accept(admission);
        return admission;
    }

    private Admission answer(Connection connection, Object key, long token) throws SQLException {
        String resource = column.describe(key);
        for (int tries = 1; ; tries++) {
            if (register(connection, key, token)) {
                return new Admission.Admitted(resource, token);
            }
            // MariaDB and MySQL show a transaction the state at its first read, although its updates see the current
            // state.
            boolean locking = tries > 1 && InnoDb.isBehind(connection);
            Long newest = newest(connection, key, locking ? " FOR UPDATE" : "");
            if (newest == null) {
                return new Admission.Missing(resource, token);
            } else if (newest > token) {
                return new Admission.Rejected(resource, token, newest);
            } else if (newest == token && locking) {
                // The row exists and is locked: a driver may count the changed rows, and not the found rows.
                return new Admission.Admitted(resource, token);
            } else if (tries == MAX_TRIES) {
                // The row appears and disappears between the two statements: no answer stays true for long.
                throw new SQLException(resource + " is deleted and recreated during the request");
            }
        }
    }

    private boolean register(Connection connection, Object key, long token) throws SQLException {
        String name = column.name();
        String sql = "UPDATE " + column.table() + " SET " + name + " = ? WHERE " + column.key() + " = ? AND (" + name
                + " IS NULL OR " + name + " <= ?)";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setLong(1, token);
            statement.setObject(2, key);
            statement.setLong(3, token);
            int rows = statement.executeUpdate();
            if (rows > 1) {
                throw new SQLException(column.describe(key) + " names " + rows + " rows: the key column " + column.key()
                        + " must be unique");
            }
            return rows == 1;
        }
    }

    /** Returns the row's token, or null if there is no such row. */
    private @Nullable Long newest(Connection connection, Object key, String how) throws SQLException {
        String sql = "SELECT " + column.name() + " FROM " + column.table() + " WHERE " + column.key() + " = ?" + how;
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setObject(1, key);
            try (ResultSet row = statement.executeQuery()) {
                return row.next() ? row.getLong(1) : null;
            }
        }
    }
}
