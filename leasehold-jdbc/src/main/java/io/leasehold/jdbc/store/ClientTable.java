package io.leasehold.jdbc.store;

import io.leasehold.admin.ClientRecord;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.lease.StoreTime;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The table of client records for operators, next to the lease table: no lock depends on it. Used by the worker's
 * thread alone.
 */
final class ClientTable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** The list of locks taken by force is a hint: beyond this it is dropped. */
    private static final int MAX_TAKEN_CHARACTERS = 8_000;

    private final Dialect.Clients statements;

    ClientTable(Dialect dialect) {
        this.statements = dialect.clients();
    }

    /**
     * Whether the table exists; creates it if that is allowed.
     *
     * @param quietly whether the log already has that it is missing
     */
    static boolean findOrMake(Connection connection, Dialect dialect, String store, boolean quietly)
            throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try {
                BriefWait.run(connection, dialect, () -> isFound(statement, dialect));
            } catch (SQLException e) {
                throwIfItPasses(e, dialect);
                if (dialect.troubles().apply(e) == SqlTrouble.ACCESS) {
                    // It exists. To create it would do nothing, or make another one, in a schema that others do not
                    // read.
                    throw e;
                }
                statement.execute(dialect.clients().create());
            }
            return true;
        } catch (SQLException e) {
            throwIfItPasses(e, dialect);
            if (quietly) {
                return false;
            }
            if (dialect.troubles().apply(e) == SqlTrouble.ACCESS) {
                warnOfRight(store, e);
            } else {
                LOG.info(
                        "{} has no table leasehold_client, nor can it be created: operators see the ids of holders, and"
                                + " nothing else about them",
                        store);
            }
            return false;
        }
    }

    /**
     * Whether the table exists and may be read.
     *
     * @param quietly whether the log already has that it must not be read
     */
    static boolean find(Connection connection, Dialect dialect, String store, boolean quietly) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return BriefWait.run(connection, dialect, () -> isFound(statement, dialect));
        } catch (SQLException e) {
            throwIfItPasses(e, dialect);
            if (!quietly && dialect.troubles().apply(e) == SqlTrouble.ACCESS) {
                warnOfRight(store, e);
            }
            return false;
        }
    }

    private static void warnOfRight(String store, SQLException e) {
        LOG.warn(
                "{}: this user may neither read nor create the table leasehold_client: operators see the ids of"
                        + " holders, and nothing else about them, and where others have the table, `leasehold leaks`"
                        + " takes this client for gone. It needs SELECT, INSERT, UPDATE and DELETE on it ({})",
                store,
                e.getMessage());
    }

    private static boolean isFound(Statement statement, Dialect dialect) throws SQLException {
        statement.executeQuery(dialect.clients().find()).close();
        return true;
    }

    private static void throwIfItPasses(SQLException e, Dialect dialect) throws SQLException {
        SqlTrouble trouble = dialect.troubles().apply(e);
        if (trouble == SqlTrouble.CONTENTION
                || trouble == SqlTrouble.INTERRUPTED
                || trouble == SqlTrouble.UNREACHABLE) {
            throw e;
        }
    }

    /** Deletes a few expired records, of this client and of others. */
    void sweep(LeaseTable table, StoreTime now) throws SQLException {
        List<String> expired = new ArrayList<>();
        try (ResultSet rows =
                table.with(statements.expired(), now.origin(), now.nanos()).executeQuery()) {
            while (rows.next()) {
                expired.add(rows.getString(1));
            }
        }
        for (String holder : expired) {
            if (isThere(table, statements.lock(), holder)) {
                table.with(statements.delete(), holder, now.origin(), now.nanos())
                        .executeUpdate();
            }
        }
    }

    /**
     * Stores a client's record.
     *
     * @return the names of the client's locks that were released by force since its last record
     * @throws RowLockedException if another transaction has locked the record
     */
    List<String> keep(LeaseTable table, ClientRecord record, long keepNanos, StoreTime now) throws SQLException {
        String taken = lockTaken(table, record.holderId());
        table.with(statements.keep(), record.holderId(), now.origin(), now.nanos() + keepNanos, record.encoded())
                .executeUpdate();
        if (taken == null) {
            return List.of();
        }
        note(table, null, record.holderId());
        return taken.lines().toList();
    }

    /** The last record of the client with this holder id. */
    Optional<ClientRecord> read(LeaseTable table, String holderId, StoreTime now) throws SQLException {
        try (ResultSet rows = table.with(statements.read(), holderId, now.origin(), now.nanos())
                .executeQuery()) {
            return rows.next() ? ClientRecord.decoded(String.valueOf(rows.getString(1))) : Optional.empty();
        }
    }

    /**
     * Leaves a note for the holder, which it finds with its next record.
     *
     * @throws RowLockedException if another transaction has locked the record
     */
    void noteTaken(LeaseTable table, String holderId, String name) throws SQLException {
        String before = lockTaken(table, holderId);
        String all = before == null ? name : before + "\n" + name;
        if (all.length() <= MAX_TAKEN_CHARACTERS) {
            note(table, all, holderId);
        }
    }

    /** The note for the holder; locks its record if there is one. */
    private @Nullable String lockTaken(LeaseTable table, String holderId) throws SQLException {
        // Queried without a lock first: a locking query for a missing record would lock a gap.
        if (!isThere(table, statements.taken(), holderId)) {
            return null;
        }
        try (ResultSet rows = table.with(statements.lock(), holderId).executeQuery()) {
            if (!rows.next()) {
                throw new RowLockedException("the record of " + holderId);
            }
            return rows.getString(1);
        }
    }

    private static boolean isThere(LeaseTable table, String query, String holderId) throws SQLException {
        try (ResultSet rows = table.with(query, holderId).executeQuery()) {
            return rows.next();
        }
    }

    private void note(LeaseTable table, @Nullable String names, String holderId) throws SQLException {
        table.with(statements.note(), names, holderId).executeUpdate();
    }
}
