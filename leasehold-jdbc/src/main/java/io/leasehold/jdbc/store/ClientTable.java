package io.leasehold.jdbc.store;

import io.leasehold.ClientRecord;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.lease.StoreTime;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The table in which clients tell operators of themselves, beside the lease table: for people, and no lock depends on it. Used by
 * the worker's thread alone.
 */
final class ClientTable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** A client deletes what has expired, its own and others', once in so many records: about once a minute. */
    private static final int RECORDS_BETWEEN_SWEEPS = 12;

    /** What is told of locks taken by force is a hint: beyond this it is dropped. */
    private static final int MOST_TAKEN_CHARACTERS = 8_000;

    private final Dialect.Clients statements;
    private int kept;

    ClientTable(Dialect dialect) {
        this.statements = dialect.clients();
    }

    /** Whether the table is there; makes it where that is allowed. */
    static boolean findOrMake(Connection connection, Dialect dialect, String store) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try {
                statement.executeQuery(dialect.clients().find()).close();
            } catch (SQLException e) {
                throwIfItPasses(e, dialect);
                statement.execute(dialect.clients().create());
            }
            return true;
        } catch (SQLException e) {
            throwIfItPasses(e, dialect);
            LOG.info(
                    "{} has no table leasehold_client that this user may read, nor the right to make it: operators are told"
                            + " the ids of holders, and nothing else of them",
                    store);
            return false;
        }
    }

    private static void throwIfItPasses(SQLException e, Dialect dialect) throws SQLException {
        SqlTrouble trouble = dialect.troubles().apply(e);
        if (trouble == SqlTrouble.CONTENTION || trouble == SqlTrouble.UNREACHABLE) {
            throw e;
        }
    }

    /**
     * Keeps what a client tells.
     *
     * @return the names of locks that were taken from it by force since it told last
     */
    List<String> keep(LeaseTable table, ClientRecord record, long keepNanos, StoreTime now) throws SQLException {
        if (kept++ % RECORDS_BETWEEN_SWEEPS == 0) {
            PreparedStatement sweep = table.prepared(statements.sweep());
            sweep.setString(1, now.origin());
            sweep.setLong(2, now.nanos());
            sweep.executeUpdate();
        }
        PreparedStatement keep = table.prepared(statements.keep());
        keep.setString(1, record.holderId());
        keep.setString(2, now.origin());
        keep.setLong(3, now.nanos() + keepNanos);
        keep.setString(4, record.encoded());
        keep.executeUpdate();
        String taken = taken(table, record.holderId());
        if (taken == null) {
            return List.of();
        }
        // What is noted between these two statements is heard of with the next renewal.
        note(table, null, record.holderId());
        return taken.lines().toList();
    }

    /** What the client with this holder id told last. */
    Optional<ClientRecord> read(LeaseTable table, String holderId, StoreTime now) throws SQLException {
        PreparedStatement read = table.prepared(statements.read());
        read.setString(1, holderId);
        read.setString(2, now.origin());
        read.setLong(3, now.nanos());
        try (ResultSet rows = read.executeQuery()) {
            return rows.next() ? ClientRecord.decoded(String.valueOf(rows.getString(1))) : Optional.empty();
        }
    }

    /** Leaves a word for the holder, which it finds when it tells of itself the next time. */
    void noteTaken(LeaseTable table, String holderId, String name) throws SQLException {
        String before = taken(table, holderId);
        String all = before == null ? name : before + "\n" + name;
        if (all.length() <= MOST_TAKEN_CHARACTERS) {
            note(table, all, holderId);
        }
    }

    private @Nullable String taken(LeaseTable table, String holderId) throws SQLException {
        PreparedStatement taken = table.prepared(statements.taken());
        taken.setString(1, holderId);
        try (ResultSet rows = taken.executeQuery()) {
            return rows.next() ? rows.getString(1) : null;
        }
    }

    private void note(LeaseTable table, @Nullable String names, String holderId) throws SQLException {
        PreparedStatement note = table.prepared(statements.note());
        note.setString(1, names);
        note.setString(2, holderId);
        note.executeUpdate();
    }
}
