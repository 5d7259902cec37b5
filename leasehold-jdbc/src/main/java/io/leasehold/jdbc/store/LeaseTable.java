package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.LeaseRow.Waiter;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
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
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The lease table over one connection: rows in, rows out, and the brackets of a transaction. Used by one thread at a
 * time.
 */
public final class LeaseTable {

    private final Loan loan;
    private final Connection connection;
    private final Dialect dialect;
    private final Incarnation incarnation;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();
    private long knownHorizon;
    private long highestFence;

    /** The table at the other end of the connection, where {@link SchemaCheck} found it. */
    public LeaseTable(Loan loan, Dialect dialect, Incarnation incarnation) {
        this.loan = loan;
        this.connection = loan.connection();
        this.dialect = dialect;
        this.incarnation = incarnation;
    }

    Loan loan() {
        return loan;
    }

    Connection connection() {
        return connection;
    }

    Incarnation incarnation() {
        return incarnation;
    }

    void begin() throws SQLException {
        highestFence = 0;
        if (dialect.transaction() instanceof Dialect.ByStatements statements) {
            try {
                prepared(statements.begin()).execute();
            } catch (SQLException e) {
                forget(statements.begin());
                throw e;
            }
        } else {
            connection.setAutoCommit(false);
        }
    }

    void commit() throws SQLException {
        if (dialect.transaction() instanceof Dialect.ByStatements statements) {
            prepared(statements.commit()).execute();
        } else {
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

    /** The row, if there is one, to be written in this transaction. */
    @Nullable
    LeaseRow find(LockName name) throws SQLException {
        return one(dialect.leases().find(), name);
    }

    /** The row, if there is one, as it was committed last. */
    @Nullable
    LeaseRow read(LockName name) throws SQLException {
        return one(dialect.leases().read(), name);
    }

    private @Nullable LeaseRow one(String query, LockName name) throws SQLException {
        PreparedStatement statement = prepared(query);
        statement.setString(1, name.text());
        try (ResultSet rows = statement.executeQuery()) {
            return rows.next() ? row(rows, name) : null;
        }
    }

    /**
     * What one statement made of a request for one lock.
     *
     * @param granted whether it is held by who asked, since now
     * @param held the hold, or null if the lock is free and kept for somebody
     * @param lastToken the end of the range that was granted; meaningless otherwise
     * @param waited whether a waiter is noted
     * @param leftNanos until the end of the hold
     */
    record Quick(boolean granted, @Nullable Held held, long lastToken, boolean waited, long leftNanos) {}

    /** Asks for a lock in one statement; null if the dialect has none, or no row came of it. */
    @Nullable
    Quick acquireAtOnce(AcquireRequest request) throws SQLException {
        String acquire = dialect.leases().acquire();
        if (acquire == null || request.names().size() != 1) {
            return null;
        }
        PreparedStatement statement = prepared(acquire);
        statement.setString(1, request.names().get(0).text());
        statement.setString(2, request.owner().hex());
        statement.setString(3, request.holderId());
        statement.setLong(4, request.ttlNanos());
        statement.setLong(5, request.seenToken() + 1);
        statement.setLong(6, request.reserve() - 1);
        try (ResultSet row = statement.executeQuery()) {
            if (!row.next()) {
                return null;
            }
            String owner = row.getString(1);
            String holder = row.getString(2);
            Held held = owner == null
                    ? null
                    : new Held(
                            token(owner),
                            holder == null ? "unknown" : holder,
                            row.getLong(3),
                            request.ttlNanos(),
                            row.getLong(4),
                            null);
            long leftNanos = row.getLong(3) - row.getLong(7) * 1000;
            return new Quick(row.getBoolean(8), held, row.getLong(5), row.getString(6) != null, leftNanos);
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

    private int bind(PreparedStatement statement, int from, LeaseRow row) throws SQLException {
        highestFence = Math.max(highestFence, row.fence());
        Held held = row.held();
        Waiter waiter = row.waiter();
        int at = from;
        statement.setString(at++, row.origin());
        statement.setString(at++, held == null ? null : held.owner().hex());
        statement.setString(at++, held == null ? null : held.holderId());
        statement.setLong(at++, held == null ? 0 : held.expiresAtNanos());
        statement.setLong(at++, held == null ? 0 : held.ttlNanos());
        statement.setLong(at++, held == null ? 0 : held.token());
        statement.setString(at++, waiter == null ? null : waiter.owner().hex());
        statement.setLong(at++, waiter == null ? 0 : waiter.sinceNanos());
        statement.setLong(at++, row.freedAtNanos());
        statement.setLong(at++, row.fence());
        if (dialect.leases().lives() != null) {
            statement.setString(at++, held == null ? null : held.life());
        }
        return at;
    }

    /** Rows with an owner whose names please, in the database's order of names, at most {@code limit}. */
    List<LeaseRow> held(Predicate<String> names, Predicate<LeaseRow> rows, int limit) throws SQLException {
        List<LeaseRow> found = new ArrayList<>();
        try (ResultSet result = prepared(dialect.leases().held()).executeQuery()) {
            while (found.size() < limit && result.next()) {
                String name = result.getString(1);
                LockName valid = names.test(name) ? nameOrNull(name) : null;
                LeaseRow row = valid == null ? null : row(result, valid);
                if (row != null && rows.test(row)) {
                    found.add(row);
                }
            }
        }
        return found;
    }

    /** The lives of all who hold; none where they are not recorded. */
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

    /** Tells all who listen, when the transaction commits; nobody where the dialect has no such thing. */
    void tell(String payload) throws SQLException {
        if (dialect.waking() instanceof Dialect.ByNotifications waking) {
            PreparedStatement statement = prepared(waking.tell());
            statement.setString(1, payload);
            statement.execute();
        }
    }

    /** A few rows whose fence is below the given one, the lowest first. */
    List<LeaseRow> below(long fence) throws SQLException {
        List<LeaseRow> found = new ArrayList<>();
        PreparedStatement statement = prepared(dialect.leases().idle());
        statement.setLong(1, fence);
        try (ResultSet result = statement.executeQuery()) {
            while (result.next()) {
                LockName name = nameOrNull(result.getString(1));
                if (name != null) {
                    found.add(row(result, name));
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

    void delete(LockName name) throws SQLException {
        PreparedStatement statement = prepared(dialect.leases().delete());
        statement.setString(1, name.text());
        statement.executeUpdate();
    }

    /** No fence of a row that was deleted was above this. */
    long fenceFloor() throws SQLException {
        return number(dialect.store().floor());
    }

    void raiseFenceFloor(long fence) throws SQLException {
        PreparedStatement statement = prepared(dialect.store().raiseFloor());
        statement.setLong(1, fence);
        statement.executeUpdate();
    }

    /** The largest fence written in this transaction. */
    long highestFence() {
        return highestFence;
    }

    /** Whether tokens up to this one go on increasing even if the machine loses power now. */
    boolean isWithinHorizon(long token) {
        return dialect.horizon() == null || token <= knownHorizon;
    }

    /** Moves the horizon so far beyond the token, in a transaction of its own that waits for the disk. */
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
            begin();
            long raised = Math.max(number(horizon.read()), token + beyond);
            PreparedStatement raise = prepared(horizon.raise());
            raise.setLong(1, raised);
            raise.executeUpdate();
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

    /** Ends a failed transaction; says whether the connection is fit for the next. */
    boolean rollbackIfActive() {
        try {
            rollback();
            return true;
        } catch (SQLException e) {
            // SQLite has rolled back by itself where it says that no transaction is active.
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

    private LeaseRow row(ResultSet result, LockName name) throws SQLException {
        String owner = result.getString(3);
        String holder = result.getString(4);
        Held held = owner == null
                ? null
                : new Held(
                        token(owner),
                        holder == null ? "unknown" : holder,
                        result.getLong(5),
                        result.getLong(6),
                        result.getLong(7),
                        dialect.leases().lives() == null ? null : result.getString(12));
        String waiting = result.getString(8);
        Waiter waiter = waiting == null ? null : new Waiter(token(waiting), result.getLong(9));
        return new LeaseRow(name, result.getString(2), held, waiter, result.getLong(10), result.getLong(11));
    }

    private static OwnerToken token(String hex) throws SQLException {
        try {
            return OwnerToken.fromHex(hex);
        } catch (IllegalArgumentException e) {
            throw new SQLException("the lease table holds an owner token that is none: " + e.getMessage(), e);
        }
    }

    /** The statement, kept for the next time. */
    PreparedStatement prepared(String sql) throws SQLException {
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

    /** Gives the connection back as it came. */
    void giveBack() {
        try {
            forgetStatements();
        } catch (SQLException e) {
            loan.discard();
            return;
        }
        loan.giveBack();
    }

    /** Ends the connection: it is not fit for anybody. */
    void discard() {
        try {
            forgetStatements();
        } catch (SQLException e) {
            // They end with it.
        } finally {
            loan.discard();
        }
    }

    /**
     * Gives the statements back; the connection stays open. Due after an error, too: SQLite's driver ends a statement
     * that failed, and refuses to run it again.
     */
    void forgetStatements() throws SQLException {
        for (String sql : List.copyOf(prepared.keySet())) {
            forget(sql);
        }
    }
}
