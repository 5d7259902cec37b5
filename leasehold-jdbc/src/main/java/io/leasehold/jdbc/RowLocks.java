package io.leasehold.jdbc;

import io.leasehold.Durations;
import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.OwnTransaction;
import io.leasehold.jdbc.row.RowDialect;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * Row locks inside the caller's own transaction. If lock and data are in one database, choose this lock: it cannot
 * expire while its holder works, and the holder cannot write after losing it.
 *
 * <p><b>Guarantee.</b> {@code SELECT … FOR UPDATE}: from {@link RowLock#LOCKED} until commit or rollback no other
 * transaction locks or changes the row. It is not a lease: it has no ttl, no renewal and no token, and the connection
 * is in use all the time. A transaction that hangs keeps its rows until the database or the network ends its
 * connection.
 *
 * <p>For H2, PostgreSQL, MariaDB and MySQL (tested on 9.7). Deadlock and timeout mean the same on all of them, with one
 * exception: if MariaDB or MySQL runs with {@code innodb_rollback_on_timeout}, a busy row costs the whole transaction,
 * and the result is {@link RowLock#ABORTED}.
 *
 * <p><b>Threads.</b> As the connection: one at a time. It blocks.
 */
public final class RowLocks {

    /**
     * A setting that limits a wait.
     *
     * @param after the text after the value: some values are text, and some must not be
     * @param outlives whether it outlives the transaction
     */
    private record Setting(String read, String write, String after, boolean outlives) {}

    private static final Setting LOCK_TIMEOUT =
            new Setting("SHOW lock_timeout", "SET LOCAL lock_timeout = '", "'", false);
    private static final Setting SESSION_SECONDS =
            new Setting("SELECT @@innodb_lock_wait_timeout", "SET SESSION innodb_lock_wait_timeout = ", "", true);

    private final Connection connection;
    private final RowDialect dialect;

    private RowLocks(Connection connection, RowDialect dialect) {
        this.connection = connection;
        this.dialect = dialect;
    }

    /**
     * Creates row locks for the transaction that is open, or begins, on this connection.
     *
     * @throws IllegalStateException if the connection is in auto-commit mode
     * @throws IllegalArgumentException if rows of this database cannot be locked
     */
    public static RowLocks in(Connection connection) throws SQLException {
        OwnTransaction.require(connection, "a row lock");
        return new RowLocks(connection, RowDialect.of(connection));
    }

    /** Creates row locks for a database that understands the statements of another one. */
    static RowLocks speaking(Connection connection, RowDialect dialect) {
        return new RowLocks(connection, dialect);
    }

    /** Locks the row; waits as long as the database is configured to. */
    public RowLock lock(String table, String keyColumn, Object key) throws SQLException {
        return one(new Column(table, keyColumn, keyColumn), key, "FOR UPDATE");
    }

    /** Locks the row if that is possible at once. */
    public RowLock tryLock(String table, String keyColumn, Object key) throws SQLException {
        return one(new Column(table, keyColumn, keyColumn), key, "FOR UPDATE NOWAIT");
    }

    /**
     * Locks the row; waits at most this long. MariaDB and MySQL use whole seconds, rounded up.
     *
     * @param maxWait the patience, not negative; zero does not wait
     */
    public RowLock tryLock(String table, String keyColumn, Object key, Duration maxWait) throws SQLException {
        Column column = new Column(table, keyColumn, keyColumn);
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait " + Durations.text(maxWait) + ": it must not be negative");
        } else if (maxWait.isZero()) {
            return one(column, key, "FOR UPDATE NOWAIT");
        }
        long millis = Math.max(1, Math.min(maxWait.toSeconds(), 1_000_000) * 1000 + maxWait.toMillisPart());
        long seconds = (millis + 999) / 1000;
        return switch (dialect.timed()) {
            case IN_THE_STATEMENT ->
                one(
                        column,
                        key,
                        "FOR UPDATE WAIT " + millis / 1000 + "." + String.format(Locale.ROOT, "%03d", millis % 1000));
            case IN_WHOLE_SECONDS -> one(column, key, "FOR UPDATE WAIT " + seconds);
            case BY_LOCK_TIMEOUT -> withSetting(LOCK_TIMEOUT, millis + "ms", column, key);
            case BY_SESSION_SECONDS -> withSetting(SESSION_SECONDS, Long.toString(seconds), column, key);
        };
    }

    /**
     * Locks free rows and skips locked ones ({@code SKIP LOCKED}): each of several workers gets different rows, and
     * none waits.
     *
     * @param condition the SQL after {@code WHERE}, a constant of the program (never external input), with {@code ?}
     *     for the parameters
     * @param most the maximum number of rows
     * @return the keys of the rows that this transaction has locked, in their order
     */
    public List<Object> lockFree(String table, String keyColumn, String condition, int most, Object... parameters)
            throws SQLException {
        Column column = new Column(table, keyColumn, keyColumn);
        if (most < 1) {
            throw new IllegalArgumentException("most " + most + ": it must be at least 1");
        }
        String sql = "SELECT " + column.key() + " FROM " + column.table() + " WHERE " + condition + " ORDER BY "
                + column.key() + " LIMIT " + most + " FOR UPDATE SKIP LOCKED";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            List<Object> keys = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    keys.add(rows.getObject(1));
                }
            }
            return keys;
        } catch (SQLException e) {
            throw InnoDb.asJdbcSaysIt(e, connection, "rows of " + table);
        }
    }

    /** Runs with the setting, and restores it in every case: the connection may be returned to a pool. */
    private RowLock withSetting(Setting setting, String value, Column column, Object key) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            String before;
            try (ResultSet row = statement.executeQuery(setting.read())) {
                row.next();
                before = row.getString(1);
            }
            String asBefore = setting.write() + before + setting.after();
            RowLock outcome;
            try {
                statement.execute(setting.write() + value + setting.after());
                outcome = one(column, key, "FOR UPDATE");
            } catch (SQLException | RuntimeException e) {
                if (setting.outlives()) {
                    executeDespite(e, statement, asBefore);
                }
                throw e;
            }
            if (setting.outlives() || outcome != RowLock.ABORTED) {
                statement.execute(asBefore);
            }
            return outcome;
        }
    }

    private static void executeDespite(Exception trouble, Statement statement, String sql) {
        try {
            statement.execute(sql);
        } catch (SQLException more) {
            trouble.addSuppressed(more);
        }
    }

    private RowLock one(Column column, Object key, String how) throws SQLException {
        Objects.requireNonNull(key, "key");
        String sql = "SELECT " + column.key() + " FROM " + column.table() + " WHERE " + column.key() + " = ? " + how;
        // If an error aborts the transaction, a busy row must not cost the caller its earlier work.
        Savepoint before = dialect.errorsAbort() ? connection.setSavepoint() : null;
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setObject(1, key);
            RowLock outcome;
            try (ResultSet row = statement.executeQuery()) {
                outcome = row.next() ? RowLock.LOCKED : RowLock.MISSING;
            }
            if (before != null) {
                connection.releaseSavepoint(before);
            }
            return outcome;
        } catch (SQLException e) {
            if (dialect.isAborted(e)) {
                return RowLock.ABORTED;
            } else if (!dialect.isBusy(e)) {
                throw e;
            } else if (dialect.isCostly(e, connection)) {
                return RowLock.ABORTED;
            }
            if (before != null) {
                connection.rollback(before);
                // Otherwise each busy row would leave a subtransaction open until the end of the transaction.
                connection.releaseSavepoint(before);
            }
            return RowLock.BUSY;
        }
    }
}
