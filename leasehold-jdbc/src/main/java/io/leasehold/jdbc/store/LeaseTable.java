package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The lease table over one connection: reads and writes rows, and begins and ends transactions. Used by one thread at a
 * time.
 */
public final class LeaseTable {

    private final Loan loan;
    private final Connection connection;
    private final Dialect dialect;
    private final Incarnation incarnation;
    private final RowColumns columns;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();
    private long knownHorizon;
    private long highestFence;
    private boolean wroteRow;
    private boolean patient;
    private @Nullable Long rowMicros;
    private Runnable beforeStatement = () -> {};

    /** Uses the table at the other end of the connection, where {@link SchemaCheck} found it. */
    public LeaseTable(Loan loan, Dialect dialect, Incarnation incarnation) {
        this.loan = loan;
        this.connection = loan.connection();
        this.dialect = dialect;
        this.incarnation = incarnation;
        this.columns = new RowColumns(dialect.leases().lives() != null);
    }

    Loan loan() {
        return loan;
    }

    Connection connection() {
        return connection;
    }

    /** Sets what runs before each statement and each commit: by then, the database has answered all earlier ones. */
    void beforeEachStatement(Runnable step) {
        beforeStatement = step;
    }

    Dialect dialect() {
        return dialect;
    }

    Incarnation incarnation() {
        return incarnation;
    }

    /**
     * Begins a transaction that writes.
     *
     * @param waitNanos the maximum wait for a row that another transaction has locked; zero does not wait
     */
    void begin(long waitNanos) throws SQLException {
        highestFence = 0;
        wroteRow = false;
        patient = waitNanos > 0;
        rowMicros = null;
        if (dialect.transaction() instanceof Dialect.ByStatements statements) {
            try {
                prepared(statements.begin()).execute();
            } catch (SQLException e) {
                forget(statements.begin());
                throw e;
            }
        } else {
            connection.setAutoCommit(false);
            try {
                String limits = ((Dialect.ByDriver) dialect.transaction()).limits();
                if (limits != null) {
                    with(limits, millis(waitNanos)).executeQuery().close();
                }
            } catch (SQLException | RuntimeException | Error e) {
                rollbackIfActive();
                throw e;
            }
        }
    }

    /** The span in the form that databases read; zero would mean no limit. */
    private static String millis(long nanos) {
        return Math.max(1, nanos / 1_000_000) + "ms";
    }

    /** Whether this transaction may wait briefly for rows that another one has locked. */
    boolean isPatient() {
        return patient;
    }

    void commit() throws SQLException {
        if (dialect.transaction() instanceof Dialect.ByStatements statements) {
            prepared(statements.commit()).execute();
        } else {
            beforeStatement.run();
            connection.commit();
            connection.setAutoCommit(true);
        }
    }

    void rollback() throws SQLException {
        if (dialect.transaction() instanceof Dialect.ByStatements statements) {
            prepared(statements.rollback()).execute();
        } else if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    /**
     * The row, if there is one, locked for writing in this transaction.
     *
     * @throws RowLockedException if another transaction has locked it, and this one must not wait for it
     */
    @Nullable
    LeaseRow find(LockName name) throws SQLException {
        if (patient) {
            return oneToWrite(dialect.leases().find(), name, name.text());
        }
        LeaseRow row = findUnlessLocked(name);
        if (row == null && read(name) != null) {
            throw new RowLockedException("the row of " + name);
        }
        return row;
    }

    /** The row, locked for writing in this transaction, unless it is missing or another transaction has locked it. */
    @Nullable
    LeaseRow findUnlessLocked(LockName name) throws SQLException {
        return findUnlessLocked(name, name.text());
    }

    /** As the other, for a row that belongs to this lock or to one of its readers. */
    @Nullable
    LeaseRow findUnlessLocked(LockName name, String row) throws SQLException {
        return oneToWrite(dialect.leases().findUnlessLocked(), name, row);
    }

    /** The database's time when the row found last was locked, in microseconds, if the database reports it. */
    @Nullable
    Long rowMicros() {
        return rowMicros;
    }

    /** The last committed state of the row, if there is one. */
    @Nullable
    LeaseRow read(LockName name) throws SQLException {
        try (ResultSet rows = with(dialect.leases().read(), name.text()).executeQuery()) {
            return rows.next() ? columns.row(rows, name) : null;
        }
    }

    private @Nullable LeaseRow oneToWrite(String query, LockName name, String row) throws SQLException {
        try (ResultSet rows = with(query, row).executeQuery()) {
            if (!rows.next()) {
                return null;
            }
            if (dialect.clock() instanceof Dialect.DatabaseTime time && time.comesWithRows()) {
                rowMicros = rows.getLong(columns.count() + 1);
            }
            return rows.getString(1) == null ? null : columns.row(rows, name);
        }
    }

    /** Requests a lock in one statement; returns null if the dialect has none, or the statement returned no row. */
    @Nullable
    QuickAnswer acquireAtOnce(AcquireRequest request, long waitNanos) throws SQLException {
        String acquire = dialect.leases().acquire();
        if (acquire == null || request.names().size() != 1) {
            return null;
        }
        PreparedStatement statement = prepared(acquire);
        QuickAnswer.bind(statement, request, millis(waitNanos));
        try (ResultSet row = statement.executeQuery()) {
            return row.next() ? QuickAnswer.of(row) : null;
        }
    }

    void insert(LeaseRow row) throws SQLException {
        PreparedStatement statement = prepared(dialect.leases().insert());
        statement.setString(1, row.name().text());
        bind(statement, 2, row);
        statement.executeUpdate();
    }

    void update(LeaseRow row) throws SQLException {
        PreparedStatement statement = prepared(dialect.leases().update());
        int next = bind(statement, 1, row);
        statement.setString(next, row.name().text());
        statement.executeUpdate();
    }

    /** Writes the waiter and the fence, and leaves the hold unchanged. */
    void note(LeaseRow row) throws SQLException {
        wrote(row.fence());
        Waiter waiter = row.waiter();
        String owner = waiter == null ? null : waiter.owner().hex();
        with(
                        dialect.leases().note(),
                        owner,
                        RowColumns.since(waiter),
                        row.fence(),
                        row.name().text())
                .executeUpdate();
    }

    /** Writes only the end of the hold. */
    void extend(LockName name, Held held) throws SQLException {
        wrote(0);
        with(dialect.leases().extend(), held.expiresAtNanos(), held.ttlNanos(), name.text())
                .executeUpdate();
    }

    private void wrote(long fence) {
        wroteRow = true;
        highestFence = Math.max(highestFence, fence);
    }

    private int bind(PreparedStatement statement, int from, LeaseRow row) throws SQLException {
        wrote(row.fence());
        return columns.bind(statement, from, row);
    }

    /** Decides what is kept of a row. */
    interface Kept<R> {
        Optional<R> of(LeaseRow row) throws SQLException;
    }

    /** The results for rows with an owner and a matching name, in the database's order of names, at most {@code limit}. */
    <R> List<R> held(Predicate<String> names, Kept<R> kept, int limit) throws SQLException {
        List<R> found = new ArrayList<>();
        try (ResultSet result = prepared(dialect.leases().held()).executeQuery()) {
            while (found.size() < limit && result.next()) {
                String name = result.getString(1);
                LockName valid = names.test(name) ? nameOrNull(name) : null;
                if (valid != null) {
                    kept.of(columns.row(result, valid)).ifPresent(found::add);
                }
            }
        }
        return found;
    }

    /** The lives of all holders; none if they are not recorded. */
    Set<String> lives() throws SQLException {
        String query = dialect.leases().lives();
        Set<String> found = new HashSet<>();
        if (query != null) {
            try (ResultSet result = prepared(query).executeQuery()) {
                while (result.next()) {
                    found.add(result.getString(1));
                }
            }
        }
        return found;
    }

    /** A number that changes when another connection has written, if the dialect has one. */
    long changes() throws SQLException {
        return dialect.waking() instanceof Dialect.ByChanges waking ? number(waking.query()) : 0;
    }

    /** Notifies all listeners when the transaction commits; does nothing if the dialect has no notifications. */
    void tell(String payload) throws SQLException {
        if (dialect.waking() instanceof Dialect.ByNotifications waking) {
            with(waking.tell(), payload).execute();
        }
    }

    /**
     * A row of a lock, or of one of its readers.
     *
     * @param stored the name of the row
     */
    record Idle(String stored, LeaseRow row) {}

    /** The last committed state of a few rows whose fence is between these, the lowest first. */
    List<Idle> between(long least, long most) throws SQLException {
        List<Idle> found = new ArrayList<>();
        try (ResultSet result = with(dialect.leases().idle(), least, most).executeQuery()) {
            while (result.next()) {
                String stored = result.getString(1);
                LockName name = nameOrNull(ReadTable.lockOf(stored));
                if (name != null) {
                    found.add(new Idle(stored, columns.row(result, name)));
                }
            }
        }
        return found;
    }

    /** Names that this library would not have written are not its locks. */
    private static @Nullable LockName nameOrNull(String text) {
        try {
            return LockName.exactly(text);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    void delete(String row) throws SQLException {
        with(dialect.leases().delete(), row).executeUpdate();
    }

    /** The largest fence of any deleted row. */
    long fenceFloor() throws SQLException {
        return number(dialect.store().floor());
    }

    /**
     * The same, locked in order to be raised in this transaction.
     *
     * @throws RowLockedException if another transaction has locked it
     */
    long lockFenceFloor() throws SQLException {
        try (ResultSet result = prepared(dialect.store().lockFloor()).executeQuery()) {
            if (!result.next()) {
                throw new RowLockedException("the row of the store");
            }
            return result.getLong(1);
        }
    }

    void raiseFenceFloor(long fence) throws SQLException {
        with(dialect.store().raiseFloor(), fence).executeUpdate();
    }

    /** Notes that this fence was written in this transaction, other than in the row of a lock. */
    void fenceWritten(long fence) {
        wrote(fence);
    }

    /** Whether a row of a lock was written in this transaction. */
    boolean wroteRow() {
        return wroteRow;
    }

    /** The largest fence written in this transaction. */
    long highestFence() {
        return highestFence;
    }

    /** Whether tokens up to this one keep increasing even if the machine loses power now. */
    boolean isWithinHorizon(long token) {
        return dialect.horizon() == null || token <= knownHorizon;
    }

    /** Moves the horizon this far beyond the token, in a separate transaction that waits for the disk. */
    void raiseHorizon(long token, long beyond) throws SQLException {
        Dialect.Horizon horizon = dialect.horizon();
        if (horizon == null) {
            return;
        }
        // Another process may have moved it.
        knownHorizon = number(horizon.read());
        if (token <= knownHorizon) {
            return;
        }
        run(horizon.durably());
        try {
            begin(0);
            long raised = Math.max(number(horizon.read()), token + beyond);
            with(horizon.raise(), raised).executeUpdate();
            commit();
            knownHorizon = raised;
        } catch (SQLException e) {
            forgetStatements();
            rollbackIfActive();
            throw e;
        } finally {
            run(horizon.asUsual());
        }
    }

    /** Ends a failed transaction; returns whether the connection can be used for the next one. */
    boolean rollbackIfActive() {
        try {
            rollback();
            return true;
        } catch (SQLException e) {
            // If SQLite reports that no transaction is active, it has rolled back by itself.
            return String.valueOf(e.getMessage()).contains("no transaction is active");
        }
    }

    private void run(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The first column of the only row. */
    long number(String query) throws SQLException {
        try (ResultSet result = prepared(query).executeQuery()) {
            if (!result.next()) {
                throw new SQLException("no row from: " + query);
            }
            return result.getLong(1);
        }
    }

    /** The statement with these parameters: texts, which may be null, and numbers. */
    PreparedStatement with(String sql, @Nullable Object... parameters) throws SQLException {
        PreparedStatement statement = prepared(sql);
        for (int i = 0; i < parameters.length; i++) {
            if (parameters[i] instanceof Long number) {
                statement.setLong(i + 1, number);
            } else {
                statement.setString(i + 1, (String) parameters[i]);
            }
        }
        return statement;
    }

    /** The statement, cached for the next use. */
    PreparedStatement prepared(String sql) throws SQLException {
        beforeStatement.run();
        PreparedStatement known = prepared.get(sql);
        if (known == null) {
            known = connection.prepareStatement(sql);
            prepared.put(sql, known);
        }
        return known;
    }

    private void forget(String sql) throws SQLException {
        PreparedStatement statement = prepared.remove(sql);
        if (statement != null) {
            statement.close();
        }
    }

    /** Returns the connection in its original state. */
    void giveBack() {
        try {
            forgetStatements();
        } catch (SQLException e) {
            loan.discard();
            return;
        }
        loan.giveBack();
    }

    /** Ends the connection: no other code may use it. */
    void discard() {
        try {
            forgetStatements();
        } catch (SQLException e) {
            // The statements end with the connection.
        } finally {
            loan.discard();
        }
    }

    /**
     * Closes the cached statements; the connection stays open. Also needed after an error: SQLite's driver ends a
     * failed statement, and refuses to run it again.
     */
    void forgetStatements() throws SQLException {
        for (String sql : List.copyOf(prepared.keySet())) {
            forget(sql);
        }
    }
}
