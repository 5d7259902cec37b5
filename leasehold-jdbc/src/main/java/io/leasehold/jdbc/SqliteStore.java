package io.leasehold.jdbc;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.SqliteFile;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.jdbc.store.BootOrigin;
import io.leasehold.jdbc.store.KeptConnection;
import io.leasehold.jdbc.store.LeaseTableStore;
import io.leasehold.jdbc.store.MachineClock;
import io.leasehold.jdbc.store.SchemaCheck;
import io.leasehold.jdbc.store.StoreSettings;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Locks in an SQLite file: real exclusion among the processes of one machine, without a server.
 *
 * <p><b>Guarantee.</b> Exclusion is decided by transactions, and leases end by the machine's monotonic clock, which all
 * its processes share: steps of the wall clock neither end nor lengthen a lease. The death of any process, at any
 * moment, leaves the file usable. <b>Condition.</b> The file lies on a local disk, has one path (what can be
 * recognised as a second one is refused), and is not deleted, moved or copied while it is used. {@code docs/stores/sqlite.md} has the whole contract.
 */
public final class SqliteStore {

    private SqliteStore() {}

    /** {@code .leasehold/locks.db} in the user's home ({@code $HOME}, else that of the system): shared by all processes of this user. */
    public static Path defaultPath() {
        return home().resolve(".leasehold").resolve("locks.db");
    }

    static Path home() {
        return home(System.getenv("HOME"), System.getProperty("user.home", ""));
    }

    /** The home of every shell and most programs: the variable decides, and the table of users only where there is none. */
    static Path home(@Nullable String variable, String ofTheUser) {
        String home = variable != null && variable.startsWith("/") ? variable : ofTheUser;
        if (home.isBlank() || home.equals("?")) {
            throw new StoreUnavailableException(
                    "sqlite: has no path, and this user has no home directory; name a file, as in"
                            + " sqlite:/var/lib/app/locks.db",
                    null);
        }
        return Path.of(home);
    }

    /**
     * Opens the file, and makes it and its directories, for this user alone, where they are missing.
     *
     * @throws IllegalArgumentException if the path cannot be an SQLite file
     * @throws LockStoreException if the file cannot be opened, or is not safe to use: the message says which and why
     */
    public static LockStore open(Path path, LockRuntime runtime) {
        return open(path, Synchronous.NORMAL, FileSystems.real(), runtime, StoreSettings.RETENTION, true);
    }

    /**
     * As {@link #open(Path, LockRuntime)}, in the runtime of the client that opens it:
     * {@code Leasehold.builder().store(SqliteStore.at(path)).connect()}.
     */
    public static Function<LockRuntime, LockStore> at(Path path) {
        Objects.requireNonNull(path, "path");
        return runtime -> open(path, runtime);
    }

    /**
     * As {@link #open(Path, LockRuntime)}.
     *
     * @param retention see {@link StoreSettings}
     * @param create if not, makes neither a file nor a directory nor a table
     */
    static LockStore open(
            Path path,
            Synchronous synchronous,
            FileSystems fileSystems,
            LockRuntime runtime,
            Duration retention,
            boolean create) {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(runtime, "runtime");
        Path file = path.toAbsolutePath().normalize();
        if (file.toString().indexOf('?') >= 0) {
            throw new IllegalArgumentException("lock file " + file
                    + " has a '?' in its path, which SQLite's driver would take as the start of options");
        }
        requireDriver();
        String description = "sqlite:" + file;
        Dialect dialect = SqliteDialect.dialect(synchronous == Synchronous.FULL);
        MachineClock clock = new MachineClock(runtime, BootOrigin.find(runtime));
        SchemaCheck schema = new SchemaCheck(dialect, runtime, clock.kind(), "lock file " + file);
        SqliteFile opener = new SqliteFile(file, synchronous, fileSystems, dialect, schema, clock.origin(), runtime);
        if (!create) {
            opener.requireExisting();
        }
        try {
            KeptConnection connection = KeptConnection.toFile(opener);
            return connection.orClose(() -> LeaseTableStore.start(
                    new StoreSettings(
                            description,
                            dialect,
                            guarantees(clock, synchronous),
                            clock,
                            schema,
                            connection,
                            () -> {
                                throw new SQLException("SQLite has nobody to listen to");
                            },
                            opener.beginLife(),
                            retention),
                    runtime));
        } catch (SQLException e) {
            throw new StoreUnavailableException("lock file " + file + " cannot be opened (" + e.getMessage() + ")", e);
        }
    }

    /**
     * The guarantees with this clock. A step of the wall clock can end a lease early, and does not tell a boot, after which
     * tokens might repeat that were not yet on the disk.
     */
    static Guarantees guarantees(MachineClock clock, Synchronous synchronous) {
        boolean knowsBoot = clock.kind().equals("boot");
        return new Guarantees(
                knowsBoot ? Guarantee.Exclusion.BY_STORE : Guarantee.Exclusion.WITHIN_DRIFT,
                knowsBoot || synchronous == Synchronous.FULL
                        ? Guarantee.Fencing.INCREASING
                        : Guarantee.Fencing.BEST_EFFORT,
                Guarantee.Queueing.WAKE_UP,
                Guarantee.Scope.MACHINE);
    }

    private static void requireDriver() {
        try {
            Class.forName("org.sqlite.JDBC");
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("sqlite: needs the driver: add the artefact org.xerial:sqlite-jdbc", e);
        }
    }
}
