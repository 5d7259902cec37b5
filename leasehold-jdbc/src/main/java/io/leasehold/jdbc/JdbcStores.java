package io.leasehold.jdbc;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.store.DatabaseClock;
import io.leasehold.jdbc.store.KeptConnection;
import io.leasehold.jdbc.store.LeaseTable;
import io.leasehold.jdbc.store.LeaseTableStore;
import io.leasehold.jdbc.store.Lives;
import io.leasehold.jdbc.store.Loan;
import io.leasehold.jdbc.store.SchemaCheck;
import io.leasehold.jdbc.store.ServerOpener;
import io.leasehold.jdbc.store.StoreSettings;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Creates stores that keep locks in a lease table of a database.
 *
 * <p><b>Guarantee.</b> Transactions decide exclusion. Leases end by the database's clock, so it must not jump. Nothing
 * depends on a session: each transaction may run in another one. The tables {@code leasehold_lock} and
 * {@code leasehold_store} are created if they are missing.
 *
 * <p>For SQLite see {@link SqliteStore}.
 */
public final class JdbcStores {

    private static final int MAX_TRIES = 20;

    /** The maximum number of dead connections that a pool lends to one opening. */
    private static final int MAX_DEAD = 100;

    private static final long FIRST_PAUSE_NANOS = 1_000_000L;
    /** Up to a quarter of a second. */
    private static final int MAX_DOUBLINGS = 8;

    /** The longest silence of a connection that is being opened: while it logs in, and while the tables are checked. */
    private static final long OPENING_NANOS = 10_000_000_000L;

    /** Leaves half a second of the 3 s that a request has by default for another connection. */
    private static final long MAX_NANOS = 2_500_000_000L;

    /** A transaction that can wait briefly gives up on a row after half of this time. */
    private static final long BRIEF_NANOS = 500_000_000L;

    private JdbcStores() {}

    /**
     * Creates a store over the caller's data source, which the store does not close.
     *
     * <p>One connection is kept from the first request until half a minute after the last lease may have ended, so that
     * leases are renewed and released even if the pool is busy. A client that waits at PostgreSQL keeps one more
     * connection while it waits. Give the pool that many more connections than its other users need. A connection is
     * returned in its original state, including auto-commit mode and network timeout. The store calls the data source
     * on its own thread.
     *
     * <p>User and password are those of the data source, which may change them while leases are held: if a login is
     * refused after the store was opened, it is retried until the attempt's patience ends.
     *
     * @throws LockStoreException if the database cannot be reached, or its lease table cannot be used
     */
    public static LockStore over(DataSource dataSource, SqlDialect dialect, LockRuntime runtime) {
        return over(dataSource, dialect.statements(), runtime);
    }

    /** As {@link #over(DataSource, SqlDialect, LockRuntime)}, with a custom dialect. */
    public static LockStore over(DataSource dataSource, Dialect dialect, LockRuntime runtime) {
        return over(dataSource, dialect, runtime, StoreSettings.RETENTION);
    }

    /** As the other overload, with a retention: rows that were not used for this time are deleted. */
    static LockStore over(DataSource dataSource, Dialect dialect, LockRuntime runtime, Duration retention) {
        Objects.requireNonNull(dataSource, "dataSource");
        Objects.requireNonNull(dialect, "dialect");
        Objects.requireNonNull(runtime, "runtime");
        String where = dialect.database() + " data source";
        Tables tables = new Tables(available(dataSource, where), MAX_DEAD, dialect, where, null, true, true, runtime);
        try {
            KeptConnection connection =
                    KeptConnection.borrowed(new ServerOpener(runtime, tables), patience(dialect), runtime);
            return connection.orClose(
                    () -> tables.start(connection, described(tables.url, where), tables.url, retention));
        } catch (SQLException e) {
            throw refusal(dialect, where, e);
        }
    }

    /**
     * As {@link #over(DataSource, SqlDialect, LockRuntime)}, in the runtime of the client that opens it:
     * {@code Leasehold.builder().store(JdbcStores.over(dataSource, SqlDialect.POSTGRESQL)).connect()}.
     */
    public static Function<LockRuntime, LockStore> over(DataSource dataSource, SqlDialect dialect) {
        Objects.requireNonNull(dataSource, "dataSource");
        Objects.requireNonNull(dialect, "dialect");
        return runtime -> over(dataSource, dialect, runtime);
    }

    /** As {@link #over(DataSource, SqlDialect)}, with a custom dialect. */
    public static Function<LockRuntime, LockStore> over(DataSource dataSource, Dialect dialect) {
        Objects.requireNonNull(dataSource, "dataSource");
        Objects.requireNonNull(dialect, "dialect");
        return runtime -> over(dataSource, dialect, runtime);
    }

    /** Creates a store with its own connection to a JDBC URL. */
    static LockStore connect(
            String url,
            String redacted,
            Dialect dialect,
            @Nullable CredentialsProvider credentials,
            LockRuntime runtime) {
        return connect(url, redacted, dialect, credentials, runtime, StoreSettings.RETENTION);
    }

    /** As {@link #connect}, but creates neither a database nor tables: if they are missing, there is no store. */
    static LockStore connectExisting(
            String url,
            String redacted,
            Dialect dialect,
            @Nullable CredentialsProvider credentials,
            LockRuntime runtime) {
        String asItIs = ExistingDatabase.url(url);
        return connect(asItIs, redacted, dialect, credentials, runtime, StoreSettings.RETENTION, false);
    }

    /** As the other overload, with a retention: rows that were not used for this time are deleted. */
    static LockStore connect(
            String url,
            String redacted,
            Dialect dialect,
            @Nullable CredentialsProvider credentials,
            LockRuntime runtime,
            Duration retention) {
        return connect(url, redacted, dialect, credentials, runtime, retention, true);
    }

    private static LockStore connect(
            String url,
            String redacted,
            Dialect dialect,
            @Nullable CredentialsProvider credentials,
            LockRuntime runtime,
            Duration retention,
            boolean makes) {
        refuseWithoutDriver(dialect, url, redacted);
        CredentialsDesk desk = credentials == null ? null : new CredentialsDesk(credentials, redacted, runtime);
        StoreSettings.Spare opener = discreet(() -> DriverManager.getConnection(url, properties(dialect, url, desk)));
        Tables tables =
                new Tables(opener, 1, dialect, redacted, dialect.connecting().begin(), desk != null, makes, runtime);
        try {
            KeptConnection connection = KeptConnection.own(new ServerOpener(runtime, tables), patience(dialect));
            return connection.orClose(() -> tables.start(connection, redacted, url, retention));
        } catch (SQLException e) {
            throw refusal(dialect, redacted, e);
        }
    }

    /** The time for which the worker waits for an answer: always longer than a statement may wait for a row. */
    static KeptConnection.Patience patience(Dialect dialect) {
        return new KeptConnection.Patience(dialect.waitsBriefly() ? BRIEF_NANOS : MAX_NANOS, MAX_NANOS);
    }

    /** The properties for the driver that the URL does not name. */
    static Properties defaults(Dialect dialect, String url) {
        Properties properties = new Properties();
        String said = url.toLowerCase(Locale.ROOT);
        dialect.connecting().defaults().forEach((name, value) -> {
            if (!said.contains(name.toLowerCase(Locale.ROOT) + "=")) {
                properties.setProperty(name, value);
            }
        });
        return properties;
    }

    /** The properties for the driver, with the requested credentials; may wait for them. */
    private static Properties properties(Dialect dialect, String url, @Nullable CredentialsDesk desk) {
        Properties properties = defaults(dialect, url);
        if (desk != null) {
            Credentials login = desk.now();
            String user = login.user();
            if (user != null) {
                properties.setProperty("user", user);
            }
            properties.setProperty("password", String.valueOf(login.password()));
        }
        return properties;
    }

    /** The connections of the data source, which may fail in undeclared ways: it may fetch credentials, for example. */
    private static StoreSettings.Spare available(DataSource dataSource, String where) {
        StoreSettings.Spare connections = discreet(dataSource::getConnection);
        return () -> {
            try {
                return connections.open();
            } catch (LockStoreException e) {
                throw e;
            } catch (RuntimeException e) {
                throw new StoreUnavailableException(where + " gave no connection (" + e + ")", e);
            }
        };
    }

    private static StoreSettings.Spare discreet(StoreSettings.Spare connections) {
        return () -> {
            try {
                return connections.open();
            } catch (SQLException e) {
                throw DriverWords.withoutUrl(e);
            } catch (RuntimeException e) {
                // Leasehold's own errors name the store without secrets.
                throw e instanceof LockStoreException ? e : DriverWords.withoutUrl(e);
            }
        };
    }

    /** Opens connections, checks their tables, and starts a store over them. */
    private static final class Tables implements ServerOpener.Source {

        private final StoreSettings.Spare connections;
        private final int maxDead;
        private final Dialect dialect;
        private final DatabaseClock clock;
        private final SchemaCheck schema;
        private final String where;
        private final @Nullable String begin;
        private final boolean loginMayChange;
        private final boolean makes;
        private final LockRuntime runtime;
        private volatile String url = "";

        Tables(
                StoreSettings.Spare connections,
                int maxDead,
                Dialect dialect,
                String where,
                @Nullable String begin,
                boolean loginMayChange,
                boolean makes,
                LockRuntime runtime) {
            this.connections = connections;
            this.maxDead = maxDead;
            this.dialect = dialect;
            this.clock = clock(dialect, runtime);
            this.schema = new SchemaCheck(dialect, runtime, clock.kind(), where, makes);
            this.where = where;
            this.begin = begin;
            this.loginMayChange = loginMayChange;
            this.makes = makes;
            this.runtime = runtime;
        }

        @Override
        public boolean loginMayChange() {
            return loginMayChange;
        }

        /** Retries: after a restart of the database, a pool may lend its dead connections one after another. */
        @Override
        public LeaseTable open() throws SQLException {
            long beganAtNanos = runtime.nanoTime();
            for (int tries = 1; ; tries++) {
                Connection lent = lent();
                try {
                    return over(lent);
                } catch (SQLException e) {
                    boolean late = runtime.nanoTime() - beganAtNanos >= OPENING_NANOS;
                    if (late || tries >= maxDead || !isDead(e) || !paused(tries)) {
                        throw e;
                    }
                }
            }
        }

        private Connection lent() throws SQLException {
            try {
                return connections.open();
            } catch (SQLException e) {
                if (!makes && ExistingDatabase.isMissing(e)) {
                    throw schema.missing(e);
                }
                throw e;
            }
        }

        /**
         * Pauses before the next connection, longer each time: a new one can be dead, too, behind a proxy whose database is
         * away. Returns whether the thread was not interrupted.
         */
        private boolean paused(int tries) {
            CompletableFuture<Void> over = new CompletableFuture<>();
            long nanos = FIRST_PAUSE_NANOS << Math.min(tries - 1, MAX_DOUBLINGS);
            LockRuntime.Timer timer = runtime.schedule(nanos, () -> over.complete(null));
            try {
                runtime.await(over);
                return true;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            } finally {
                timer.cancel();
            }
        }

        private boolean isDead(Throwable e) {
            return e instanceof SQLException told && dialect.troubles().apply(told) == SqlTrouble.UNREACHABLE;
        }

        private LeaseTable over(Connection lent) throws SQLException {
            Loan loan = Loan.begin(lent, tuningIfItFits(), OPENING_NANOS);
            try {
                url = String.valueOf(loan.connection().getMetaData().getURL());
                Incarnation found = prepared(loan.connection());
                if (begin != null) {
                    try (Statement statement = loan.connection().createStatement()) {
                        statement.execute(begin);
                    }
                }
                return new LeaseTable(loan, dialect, found);
            } catch (Throwable e) {
                // Any exception: a wrapper of a driver may throw undeclared ones.
                if (isDead(e)) {
                    loan.discard();
                } else {
                    loan.giveBack();
                }
                throw e;
            }
        }

        /** Refuses another kind of database before a statement of this dialect is sent to it. */
        private Dialect.Tuning tuningIfItFits() {
            Dialect.Tuning tuning = dialect.tuning();
            return new Dialect.Tuning() {
                @Override
                public int begin(Connection connection) throws SQLException {
                    refuseStrangers(connection, dialect, where);
                    return tuning.begin(connection);
                }

                @Override
                public void end(Connection connection, int before) throws SQLException {
                    tuning.end(connection, before);
                }
            };
        }

        /** Retries: two clients that create the tables at the same time can disturb each other, even repeatedly. */
        private Incarnation prepared(Connection connection) throws SQLException {
            for (int tries = 1; ; tries++) {
                try {
                    Incarnation found = schema.findOrMake(connection);
                    schema.refuseLookAlikes(connection);
                    schema.findOrMakeClients(connection);
                    return found;
                } catch (SQLException e) {
                    if (tries >= MAX_TRIES || dialect.troubles().apply(e) != SqlTrouble.CONTENTION) {
                        throw e;
                    }
                }
            }
        }

        LockStore start(KeptConnection connection, String description, String ofUrl, Duration retention) {
            Guarantees guarantees = new Guarantees(
                    Guarantee.Exclusion.WITHIN_DRIFT,
                    Guarantee.Fencing.INCREASING,
                    Guarantee.Queueing.POLLING,
                    dialect.scope().apply(ofUrl));
            return LeaseTableStore.start(
                    new StoreSettings(
                            description,
                            dialect,
                            guarantees,
                            clock,
                            schema,
                            connection,
                            connections,
                            Lives.UNKNOWN,
                            retention),
                    runtime);
        }
    }

    private static DatabaseClock clock(Dialect dialect, LockRuntime runtime) {
        if (dialect.clock() instanceof Dialect.DatabaseTime time) {
            return new DatabaseClock(runtime, time);
        }
        throw new IllegalArgumentException(dialect.database() + " has no clock of its own");
    }

    /** The driver's name of the database, without possible secrets; drivers repeat the whole URL. */
    private static String described(String url, String where) {
        if (!url.startsWith("jdbc:")) {
            return where;
        }
        String shown = StoreUri.parse(url).redacted();
        int end = 0;
        while (end < shown.length() && ";?(".indexOf(shown.charAt(end)) < 0) {
            end++;
        }
        return shown.substring(0, end);
    }

    private static void refuseStrangers(Connection connection, Dialect dialect, String where) throws SQLException {
        String product = String.valueOf(connection.getMetaData().getDatabaseProductName());
        if (!dialect.fits(product)) {
            throw new IllegalArgumentException(where + " is a database of " + product
                    + ", but the chosen dialect"
                    + " is that of " + dialect.database() + "; locks can be kept in PostgreSQL, MariaDB, MySQL, H2 and"
                    + " SQLite, each with its own dialect, and in others with a dialect of your own");
        }
    }

    private static void refuseWithoutDriver(Dialect dialect, String url, String where) {
        try {
            DriverManager.getDriver(url);
        } catch (SQLException e) {
            // The message contains the URL and nothing else.
            throw new StoreUnavailableException(
                    where + " cannot be opened: no JDBC driver for " + dialect.database()
                            + " is present; add the artefact " + dialect.driver()
                            + ", or name its jar in LEASEHOLD_CLASSPATH for the command line",
                    null);
        }
    }

    private static LockStoreException refusal(Dialect dialect, String where, SQLException e) {
        String said =
                " (" + SqlTrouble.firstLine(e) + ", SQL state " + e.getSQLState() + ", code " + e.getErrorCode() + ")";
        if (dialect.troubles().apply(e) == SqlTrouble.READ_ONLY) {
            return new StoreAccessException(
                    where + " can only be read" + said + "; name the primary server, and a user who may write", e);
        }
        return dialect.troubles().apply(e) == SqlTrouble.ACCESS
                ? new StoreAccessException(
                        where + " refuses this user" + said
                                + "; grant it login, and read and write on the tables leasehold_lock, leasehold_store"
                                + " and leasehold_client; if it may not create tables, an administrator runs"
                                + " SqlDialect.ddl()",
                        e)
                : new StoreUnavailableException(where + " cannot be opened" + said, e);
    }
}
