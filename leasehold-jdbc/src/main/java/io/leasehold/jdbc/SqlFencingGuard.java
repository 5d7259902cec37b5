package io.leasehold.jdbc;

import io.leasehold.Lease;
import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingToken;
import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.FencingColumns;
import io.leasehold.jdbc.row.FencingColumns.ForReaders;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.MissingColumn;
import io.leasehold.jdbc.row.OwnTransaction;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Optional;
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
 * <p><b>Readers.</b> With {@link #withReaders two more columns}, the guard also admits the holders of read leases, who
 * exclude older writers and not each other ({@link io.leasehold.fencing.TokenPair}). A reader locks the row until the
 * end of its transaction, too. Guards of the same rows without these columns, of earlier versions, and statements like
 * the one above may be used at the same time: the token that they write counts as a writer's.
 *
 * <p>Plain SQL for any database. <b>Threads.</b> Any thread may use the guard, with a connection of its own. It blocks.
 */
public final class SqlFencingGuard {

    private static final int MAX_TRIES = 5;

    private final Column column;
    private final FencingColumns columns;
    private final Consumer<? super Admission> observer;

    private SqlFencingGuard(FencingColumns columns, Consumer<? super Admission> observer) {
        this.column = columns.token();
        this.columns = columns;
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
        return new SqlFencingGuard(
                new FencingColumns(new Column(table, keyColumn, tokenColumn), null), admission -> {});
    }

    /**
     * Returns this guard with the columns that it needs for readers. Both must accept null, and no other statement may
     * write them. The guard names them in its statements for writers, too, so they must exist before its first use.
     *
     * <p>An admission as a reader allows reading only: two readers that both change the row do not exclude each other.
     *
     * @param writerColumn a 64-bit integer column for the token of the newest writer
     * @param writerAtColumn a 64-bit integer column for the newest token at which that one counts: a statement that
     *     changes the column of the tokens alone counts as a writer's
     * @throws IllegalArgumentException if two of the guard's columns have one name
     */
    public SqlFencingGuard withReaders(String writerColumn, String writerAtColumn) {
        ForReaders readers = new ForReaders(
                new Column(column.table(), column.key(), writerColumn),
                new Column(column.table(), column.key(), writerAtColumn));
        return new SqlFencingGuard(new FencingColumns(column, readers), observer);
    }

    /**
     * Returns this guard with an observer of each answer: to count rejections, or to log them.
     *
     * @param newObserver called by the thread that presents the token; must not block
     */
    public SqlFencingGuard reportingTo(Consumer<? super Admission> newObserver) {
        return new SqlFencingGuard(columns, Objects.requireNonNull(newObserver, "newObserver"));
    }

    /** The table, as the caller named it. */
    public String table() {
        return column.table();
    }

    /** The column of the tokens, as the caller named it. */
    public String tokenColumn() {
        return column.name();
    }

    /** The column of the newest writer's token, as it was given; empty in a guard without readers. */
    public Optional<String> writerColumn() {
        return Optional.ofNullable(columns.readers())
                .map(readers -> readers.writer().name());
    }

    /** The column of the newest token at which that one counts, as it was given; empty in a guard without readers. */
    public Optional<String> writerAtColumn() {
        return Optional.ofNullable(columns.readers())
                .map(readers -> readers.writerAt().name());
    }

    /**
     * Presents the token of an exclusive lease to a row, and locks the row until the end of the transaction.
     *
     * @param key the row's key
     * @param token the fencing token of the lease
     * @return whether the holder may proceed
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws java.sql.SQLTransactionRollbackException if the transaction must be rolled back and repeated; some
     *     drivers report that only by the SQL state (40…)
     * @throws java.sql.SQLSyntaxErrorException if the table lacks a column of this guard; the message has the statements
     *     that add them
     */
    public Admission admit(Connection connection, Object key, long token) throws SQLException {
        return admit(connection, key, token, Access.WRITE);
    }

    /**
     * Presents the token and the kind of a lease to a row, and locks the row until the end of the transaction.
     *
     * @param key the row's key
     * @return whether the holder may proceed
     * @throws IllegalStateException if the connection is in auto-commit mode, or if the lease is a reader's and this
     *     guard has no {@linkplain #withReaders columns for readers}
     * @throws java.sql.SQLTransactionRollbackException as for {@link #admit(Connection, Object, long)}
     */
    public Admission admit(Connection connection, Object key, Lease lease) throws SQLException {
        return admit(connection, key, lease.fencingToken(), Access.of(lease));
    }

    /**
     * Presents a token to a row, and locks the row until the end of the transaction.
     *
     * @param key the row's key
     * @param token the fencing token of the lease
     * @param access the kind of the lease
     * @return whether the holder may proceed
     * @throws IllegalStateException if the connection is in auto-commit mode, or if the lease is a reader's and this
     *     guard has no {@linkplain #withReaders columns for readers}
     * @throws java.sql.SQLTransactionRollbackException as for {@link #admit(Connection, Object, long)}
     */
    public Admission admit(Connection connection, Object key, long token, Access access) throws SQLException {
        Objects.requireNonNull(key, "key");
        FencingToken.require(token);
        if (Objects.requireNonNull(access, "access") == Access.READ && columns.readers() == null) {
            throw new IllegalStateException(withoutReaders());
        }
        OwnTransaction.require(connection, "an admission");
        Admission admission;
        try {
            admission = answer(connection, key, token, access);
        } catch (SQLException e) {
            SQLException other = MissingColumn.orOther(e, columns, column.describe(key));
            throw InnoDb.asJdbcSaysIt(other, connection, column.describe(key));
        }
        observer.accept(admission);
        return admission;
    }

    private String withoutReaders() {
        ForReaders missing = columns.readersToAdd();
        return "the guard of " + column.table() + "." + column.name() + " has no columns for readers: execute "
                + String.join("; ", missing.additions()) + "; and create the guard with withReaders(\""
                + missing.writer().name() + "\", \"" + missing.writerAt().name() + "\")";
    }

    private Admission answer(Connection connection, Object key, long token, Access access) throws SQLException {
        String resource = column.describe(key);
        for (int tries = 1; ; tries++) {
            if (register(connection, key, token, access)) {
                return new Admission.Admitted(resource, token);
            }
            // MariaDB and MySQL show a transaction the state at its first read, although its updates see the current
            // state.
            boolean locking = tries > 1 && InnoDb.isBehind(connection);
            Seen seen = seen(connection, key, locking ? " FOR UPDATE" : "");
            if (seen == null) {
                return new Admission.Missing(resource, token);
            } else if (seen.floor(access) > token) {
                return new Admission.Rejected(resource, token, seen.floor(access));
            } else if (seen.newest >= token && locking) {
                // The row exists and is locked: a driver may count the changed rows, and not the found rows.
                return new Admission.Admitted(resource, token);
            } else if (tries == MAX_TRIES) {
                // The row appears and disappears between the two statements: no answer stays true for long.
                throw new SQLException(resource + " is deleted and recreated during the request");
            }
        }
    }

    private boolean register(Connection connection, Object key, long token, Access access) throws SQLException {
        ForReaders readers = access == Access.READ ? columns.readers() : null;
        String sql = readers == null ? columns.registerWriter() : columns.registerReader(readers);
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            int parameter = 1;
            for (int values = readers == null ? 1 : 4; values > 0; values--) {
                statement.setLong(parameter++, token);
            }
            statement.setObject(parameter++, key);
            statement.setLong(parameter, token);
            int rows = statement.executeUpdate();
            if (rows > 1) {
                throw new SQLException(column.describe(key) + " names " + rows + " rows: the key column " + column.key()
                        + " must be unique");
            }
            return rows == 1;
        }
    }

    /** Not a {@link io.leasehold.fencing.TokenPair}: a column may contain any number. */
    private record Seen(long newest, long writer) {
        private long floor(Access access) {
            return access == Access.READ ? writer : newest;
        }
    }

    /** Null if there is no row. */
    private @Nullable Seen seen(Connection connection, Object key, String how) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(columns.select(how))) {
            statement.setObject(1, key);
            try (ResultSet row = statement.executeQuery()) {
                return row.next() ? new Seen(row.getLong(1), row.getLong(2)) : null;
            }
        }
    }
}
