package io.leasehold.jdbc.sqlite;

import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.store.KeptConnection;
import io.leasehold.jdbc.store.LeaseTable;
import io.leasehold.jdbc.store.Lives;
import io.leasehold.jdbc.store.Loan;
import io.leasehold.jdbc.store.SchemaCheck;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteOpenMode;

/**
 * A lock file of SQLite: creates a missing file, refuses an unsafe one, and opens connections to it.
 *
 * <p>Never opens an existing file by other means than SQLite: closing such a descriptor would drop the locks that
 * SQLite holds on the file for this whole process.
 */
public final class SqliteFile implements KeptConnection.Opener {

    /** Marks a file as Leasehold's: "LsHd". */
    static final int APPLICATION_ID = 0x4C734864;

    /** The time for which SQLite itself waits for a lock; then the worker checks whether a caller still waits. */
    private static final int BUSY_TIMEOUT_MILLIS = 10;

    private static final long OPEN_LIMIT_NANOS = 5_000_000_000L;
    private static final long PAUSE_NANOS = 5_000_000L;

    private final Path path;
    private final Synchronous synchronous;
    private final LockFile lockFile;
    private final Dialect dialect;
    private final SchemaCheck schema;
    private final String origin;
    private final LockRuntime runtime;
    private @Nullable Object openedKey;

    /**
     * A file.
     *
     * @param path absolute
     * @param schema decides whether a missing file is created
     * @param origin the zero of this process's times: names the boot of the machine
     */
    public SqliteFile(
            Path path,
            Synchronous synchronous,
            FileSystems fileSystems,
            Dialect dialect,
            SchemaCheck schema,
            String origin,
            LockRuntime runtime) {
        this.path = path;
        this.synchronous = synchronous;
        this.lockFile = new LockFile(path, fileSystems, schema.makes());
        this.dialect = dialect;
        this.schema = schema;
        this.origin = origin;
        this.runtime = runtime;
    }

    /** Begins the life to which this store's holds are bound; the file must have been opened. */
    public Lives beginLife() {
        return LifeFile.begin(path, runtime);
    }

    /** A client that only looks never writes, so it would read a deleted file without end. */
    @Override
    public boolean leadsToStoreForReads() {
        return schema.makes() || leadsToStore();
    }

    @Override
    public boolean leadsToStore() {
        return openedKey == null || Objects.equals(openedKey, fileKey());
    }

    /**
     * The key of the file at this path now, if the file system has such keys; on others, an open file cannot vanish.
     */
    private @Nullable Object fileKey() {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        } catch (NoSuchFileException e) {
            return "no file";
        } catch (IOException e) {
            return "unreadable";
        }
    }

    @Override
    public LeaseTable open() throws SQLException {
        long startAtNanos = runtime.nanoTime();
        while (true) {
            try {
                return tryOpen();
            } catch (SQLException e) {
                SqlTrouble trouble = dialect.troubles().apply(e);
                boolean mayPass = trouble == SqlTrouble.CONTENTION || trouble == SqlTrouble.UNREACHABLE;
                if (!mayPass || runtime.nanoTime() - startAtNanos > OPEN_LIMIT_NANOS || cannotBeOpened(e)) {
                    throw lockFile.refusal(trouble, e);
                }
                pause();
            }
        }
    }

    /** Whether waiting is useless: SQLite's CANTOPEN for an existing file is permanent. */
    private boolean cannotBeOpened(SQLException e) {
        return e.getErrorCode() == 14 && Files.exists(path);
    }

    /** Waits outside the database: switching to WAL does not wait for others. */
    private void pause() {
        CompletableFuture<Boolean> over = new CompletableFuture<>();
        runtime.schedule(PAUSE_NANOS, () -> over.complete(true));
        TimeLimit.await(runtime, over, "opening the lock file " + path);
    }

    private LeaseTable tryOpen() throws SQLException {
        lockFile.prepare();
        Object key = fileKey();
        SQLiteConfig config = new SQLiteConfig();
        config.resetOpenMode(SQLiteOpenMode.CREATE);
        config.setBusyTimeout(BUSY_TIMEOUT_MILLIS);
        Connection connection = config.createConnection("jdbc:sqlite:" + path);
        try (Statement statement = connection.createStatement()) {
            refuseStrangers(statement);
            useWriteAheadLog(statement);
            statement.execute("PRAGMA synchronous=FULL");
            Incarnation incarnation = prepareSchema(connection, statement);
            schema.findOrMakeClients(connection);
            if (!origin.equals(text(statement, "SELECT boot FROM leasehold_store WHERE id = 1"))) {
                noteBoot(connection);
            }
            statement.execute("PRAGMA synchronous=" + synchronous);
            openedKey = key;
            return new LeaseTable(Loan.begin(connection, dialect.tuning()), dialect, incarnation);
        } catch (SQLException | RuntimeException | Error e) {
            connection.close();
            throw e;
        }
    }

    private void refuseStrangers(Statement statement) throws SQLException {
        // In this order: another process that creates the file meanwhile commits the tables and the id together.
        boolean isEmpty = number(statement, "SELECT count(*) FROM sqlite_master") == 0;
        long application = number(statement, "PRAGMA application_id");
        if (!isEmpty && application != APPLICATION_ID) {
            throw new UnsafeStoreException(
                    "lock file " + path + " is an SQLite database of another application (application id " + application
                            + "); use a file for locks only",
                    null);
        } else if (isEmpty && !schema.makes()) {
            throw lockFile.missing();
        }
    }

    private void useWriteAheadLog(Statement statement) throws SQLException {
        if ("wal".equalsIgnoreCase(text(statement, "PRAGMA journal_mode"))) {
            return;
        }
        String mode = text(statement, "PRAGMA journal_mode=WAL");
        if (!"wal".equalsIgnoreCase(mode)) {
            throw new UnsafeStoreException(
                    "lock file " + path + " cannot use a write-ahead log (journal mode is " + mode
                            + "): its file system lacks shared memory; use a file on a local disk",
                    null);
        }
    }

    private Incarnation prepareSchema(Connection connection, Statement statement) throws SQLException {
        if (number(statement, "PRAGMA application_id") == APPLICATION_ID) {
            Incarnation found = schema.read(connection);
            if (found != null) {
                return found;
            }
        }
        if (!schema.makes()) {
            throw lockFile.missing();
        }
        statement.execute("BEGIN IMMEDIATE");
        try {
            Incarnation made = schema.prepare(connection);
            statement.execute("PRAGMA application_id=" + APPLICATION_ID);
            statement.execute("COMMIT");
            return made;
        } catch (SQLException | RuntimeException e) {
            rollBackDespite(e, statement);
            throw e;
        }
    }

    /**
     * Rolls back. SQLite may already have done so, for example on a full disk: then its error "no transaction" is not
     * the reason.
     */
    private static void rollBackDespite(Exception trouble, Statement statement) {
        try {
            statement.execute("ROLLBACK");
        } catch (SQLException more) {
            trouble.addSuppressed(more);
        }
    }

    /** Raises the floor after a boot: tokens continue above all that may have been granted and lost before it. */
    private void noteBoot(Connection connection) throws SQLException {
        try (PreparedStatement note = connection.prepareStatement("""
                UPDATE leasehold_store SET fence_floor = max(fence_floor, token_horizon), boot = ?1
                    WHERE id = 1 AND boot <> ?1""")) {
            note.setString(1, origin);
            note.executeUpdate();
        }
    }

    private static long number(Statement statement, String query) throws SQLException {
        try (ResultSet row = statement.executeQuery(query)) {
            return row.next() ? row.getLong(1) : 0;
        }
    }

    private static String text(Statement statement, String query) throws SQLException {
        try (ResultSet row = statement.executeQuery(query)) {
            return row.next() ? row.getString(1) : "";
        }
    }
}
