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
 * Keeps locks in an SQLite file: real exclusion among the processes of one machine, without a server.
 *
 * <p><b>Guarantee.</b> Transactions decide exclusion, and leases end by the machine's monotonic clock, which all its
 * processes share: steps of the wall clock neither end nor extend a lease. The death of any process, at any moment,
 * leaves the file usable. <b>Condition.</b> The file is on a local disk, has one path (a recognisable second path is
 * refused), and is not deleted, moved or copied while it is used. {@code docs/stores/sqlite.md} has the whole contract.
 */
public final class SqliteStore {

    private SqliteStore() {}

    /**
     * The default file: {@code .leasehold/locks.db} in the user's home ({@code $HOME}, else that of the system). All
     * processes of this user share it.
     */
    public static Path defaultPath() {
        return home().resolve(".leasehold").resolve("locks.db");
    }

    static Path home() {
        return home(System.getenv("HOME"), System.getProperty("user.home", ""));
    }

    /**
     * The home directory as shells and most programs determine it: by the variable, or by the table of users if the
     * variable is not set.
     */
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
     * Opens the file. If it or its directories are missing, creates them for this user alone.
     *
     * @throws IllegalArgumentException if the path cannot be an SQLite file
     * @throws LockStoreException if the file cannot be opened, or is not safe to use: the message names the file and
     *     the reason
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
     * @param create whether to create a missing file, directory or table
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
                    + " has a '?' in its path, which SQLite's driver would interpret as the start of options");
        }
        requireDriver();
        String description = "sqlite:" + file;
        Dialect dialect = SqliteDialect.dialect(synchronous == Synchronous.FULL);
        MachineClock clock = new MachineClock(runtime, BootOrigin.find(runtime));
        SchemaCheck schema = new SchemaCheck(dialect, runtime, clock.kind(), "lock file " + file, create);
        SqliteFile opener = new SqliteFile(file, synchronous, fileSystems, dialect, schema, clock.origin(), runtime);
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
                                throw new SQLException("SQLite has no notifications to listen to");
                            },
                            opener.beginLife(),
                            retention),
                    runtime));
        } catch (SQLException e) {
            throw new StoreUnavailableException("lock file " + file + " cannot be opened (" + e.getMessage() + ")", e);
        }
    }

    /**
     * The guarantees with this clock. With the wall clock, a step can end a lease early. A boot is not detected either,
     * after which tokens that were not yet on disk might repeat.
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
