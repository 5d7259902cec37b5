package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.fencing.Admission;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedWallClock;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Faults of a real PostgreSQL: killed sessions, locked rows, restored backups, standbys, rights, clocks. */
@Timeout(180)
@Tag("full")
class PostgresFaultsTest {

    @TempDir
    private static Path directory;

    private static @Nullable PostgresServer server;

    @BeforeAll
    static void startServer() throws IOException {
        server = PostgresServer.start(directory);
    }

    @AfterAll
    static void stopServer() throws IOException {
        if (server != null) {
            server.close();
        }
    }

    private static LeaseClient open(String url) {
        return LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(url), runtime));
    }

    private static LeaseClient open() {
        return open(server.url());
    }

    private static void execute(String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static long number(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private static LockStoreException refusal(String url) {
        try (LeaseClient client = open(url)) {
            throw new AssertionError(client.store.description() + " was opened");
        } catch (LockStoreException e) {
            assertThat(e.getMessage()).as("one line").doesNotContain("\n");
            return e;
        }
    }

    @Test
    void connectionsKilledWhileHeldCostNothing() throws SQLException {
        try (LeaseClient client = open()) {
            OwnerToken owner = client.owner();
            AcquireReply.Granted held = client.granted("killed", owner);
            execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
            assertThat(client.renew("killed", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    + " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
            assertThat(client.granted("killed too", client.owner()).ballot()).isPositive();
            client.release("killed", owner);
            assertThat(client.granted("killed", client.owner()).ballot()).isGreaterThan(held.ballot());
        }
    }

    /** The row is one ttl ahead at most, also if the holder is dead and all others ask without waiting. */
    @Test
    void afterTheClockWentBackADeadHoldersLockIsFreeOneTtlAfterTheFirstRequest() throws Exception {
        try (LeaseClient client = open()) {
            AcquireRequest ofADeadHolder = AcquireRequest.exclusive(
                    List.of(LockName.exactly("went back")),
                    client.owner(),
                    "test",
                    Duration.ofSeconds(1).toNanos(),
                    LeaseClient.LIMIT.toNanos());
            assertThat(client.acquire(ofADeadHolder)).isInstanceOf(AcquireReply.Granted.class);
            execute("UPDATE leasehold_lock SET expires_at = expires_at + 3600000000000 WHERE name = 'went back'");
            assertThat(client.acquire("went back", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            Thread.sleep(1_100);
            client.granted("went back", client.owner());
        }
    }

    /** A client that is stopped inside its transaction keeps a row locked; the others lose only that lock. */
    @Test
    void aRowThatIsKeptLockedDelaysAndIsTriedAgain() throws Exception {
        try (LeaseClient client = open();
                Connection keeper = DriverManager.getConnection(server.url())) {
            OwnerToken first = client.owner();
            client.granted("kept", first);
            client.release("kept", first);
            keeper.setAutoCommit(false);
            try (Statement statement = keeper.createStatement()) {
                statement.execute("SELECT * FROM leasehold_lock WHERE name = 'kept' FOR UPDATE");
            }
            OwnerToken owner = client.owner();
            CompletableFuture<AcquireReply> waiting = client.store.acquire(LeaseClient.request("kept", owner));
            // Longer than the limit on the wait for a row, so that it has been retried.
            long startAtNanos = System.nanoTime();
            while (System.nanoTime() - startAtNanos < Duration.ofSeconds(1).toNanos()) {
                assertThat(waiting).isNotDone();
                Thread.sleep(10);
            }
            keeper.rollback();
            assertThat(waiting.get()).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** The session keeps its previous limits. */
    @Test
    void theLimitsOfATransactionEndWithIt() throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            String clock = "SELECT set_config('lock_timeout', '250ms', true)";
            statement.execute(clock);
            connection.commit();
            ResultSet row = statement.executeQuery("SHOW lock_timeout");
            row.next();
            assertThat(row.getString(1)).isEqualTo("0");
        }
    }

    /** Every transaction is serializable, as in some pools: a transaction that cannot be serialized is repeated. */
    @Test
    void serializationFailuresAreRetried() throws Exception {
        String url = server.url() + "&options=-c%20default_transaction_isolation=serializable";
        List<CompletableFuture<Long>> runs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            runs.add(CompletableFuture.supplyAsync(() -> {
                long last = 0;
                try (LeaseClient client = open(url)) {
                    for (int round = 0; round < 40; round++) {
                        OwnerToken owner = client.owner();
                        AcquireReply reply = client.acquire("serial", owner);
                        while (reply instanceof AcquireReply.Busy) {
                            reply = client.acquire("serial", owner);
                        }
                        long token =
                                ((AcquireReply.Granted) reply).grant().tokens().first();
                        assertThat(token).isGreaterThan(last);
                        last = token;
                        client.release("serial", owner);
                    }
                }
                return last;
            }));
        }
        for (CompletableFuture<Long> run : runs) {
            assertThat(run.get()).isPositive();
        }
    }

    @Test
    void aReplicaThatCanOnlyBeReadIsOneClearError() {
        try (LeaseClient writer = open()) {
            writer.granted("there", writer.owner());
        }
        String url = server.url() + "&options=-c%20default_transaction_read_only=on";
        // The tables exist, so it opens, and reports the error at the first write.
        try (LeaseClient client = open(url)) {
            assertThat(client.store
                            .admin()
                            .describe(io.leasehold.LockName.exactly("there"))
                            .join())
                    .isPresent();
            assertThat(client.acquire("x", client.owner()))
                    .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                        assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                        assertThat(failed.error())
                                .isInstanceOf(StoreUnavailableException.class)
                                .hasMessageContainingAll("can only be read", "name the primary")
                                .hasMessageNotContaining("\n");
                    });
        }
    }

    @Test
    void anEmptyDatabaseThatCanOnlyBeReadIsRefused() throws SQLException {
        execute("CREATE DATABASE empty_ro");
        String url = server.url().replace("/postgres?", "/empty_ro?");
        assertThat(refusal(url + "&options=-c%20default_transaction_read_only=on"))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContainingAll("can only be read", "name the primary");
    }

    @Test
    void missingRightsAreOneClearErrorAndTheDdlMendsThem() throws SQLException {
        execute("CREATE DATABASE poor", "CREATE ROLE joe LOGIN PASSWORD 'pssst'");
        String admin = server.url().replace("/postgres?", "/poor?");
        String joe = admin.replace("user=postgres", "user=joe&password=pssst");
        assertThat(refusal(joe))
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContainingAll("refuses this user", "SqlDialect.ddl()", "leasehold_lock")
                .hasMessageNotContaining("pssst");
        try (Connection connection = DriverManager.getConnection(admin);
                Statement statement = connection.createStatement()) {
            statement.execute(SqlDialect.POSTGRESQL.ddl());
            statement.execute("GRANT SELECT, INSERT, UPDATE ON leasehold_store, leasehold_lock TO joe");
            try (LeaseClient client = open(joe)) {
                OwnerToken owner = client.owner();
                client.granted("mended", owner);
                client.release("mended", owner);
                assertThat(client.store.operations().keepsClientRecords()).isFalse();
            }
            // A user who may create tables, as everybody before PostgreSQL 15: the table exists, and remains out of
            // reach.
            statement.execute("GRANT CREATE ON SCHEMA public TO joe");
            try (LeaseClient client = open(joe)) {
                assertThat(client.store.operations().keepsClientRecords()).isFalse();
            }
            statement.execute("REVOKE UPDATE ON leasehold_lock FROM joe");
            try (LeaseClient client = open(joe)) {
                assertThat(client.acquire("x", client.owner()))
                        .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                            assertThat(failed.error())
                                    .isInstanceOf(StoreAccessException.class)
                                    .hasMessageContaining("right");
                        });
            }
        }
    }

    @Test
    void anotherSchemaVersionIsOneClearError() throws SQLException {
        execute("CREATE DATABASE later");
        String url = server.url().replace("/postgres?", "/later?");
        open(url).close();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("UPDATE leasehold_store SET schema_version = 9");
        }
        assertThat(refusal(url))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("version 9", "needs 1");
    }

    @Test
    void anotherDatabaseThanTheDialectsIsRefused() {
        assertThatThrownBy(() -> LeaseClient.open(runtime -> JdbcStores.connect(
                        server.url(), "jdbc:postgresql:…", SqlDialect.H2.statements(), null, runtime)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("a database of PostgreSQL", "dialect", "H2");
        // This dialect tunes each connection before its use.
        assertThatThrownBy(() -> LeaseClient.open(runtime -> JdbcStores.connect(
                        server.url(), "jdbc:postgresql:…", SqlDialect.MYSQL.statements(), null, runtime)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("a database of PostgreSQL", "dialect", "MySQL");
    }

    /** The driver minds this only within transactions, in which locks are renewed and released. */
    @Test
    void connectionsThatAPoolMarksAsReadOnlyKeepLocks() throws SQLException {
        SimpleDataSource pool = new SimpleDataSource(() -> {
            Connection marked = DriverManager.getConnection(server.url());
            marked.setReadOnly(true);
            return marked;
        });
        try (LeaseClient client = LeaseClient.open(runtime -> JdbcStores.over(pool, SqlDialect.POSTGRESQL, runtime))) {
            OwnerToken owner = client.owner();
            client.granted("marked", owner);
            assertThat(client.renew("marked", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            client.release("marked", owner);
            assertThat(client.acquire("marked", client.owner())).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** Only the database's time counts. */
    @Test
    void clientClocksThatAreHoursWrongChangeNothing() throws SQLException {
        SteppedWallClock ahead = new SteppedWallClock(new SystemLockRuntime());
        ahead.step(Duration.ofHours(5));
        SteppedWallClock behind = new SteppedWallClock(new SystemLockRuntime());
        behind.step(Duration.ofHours(-5));
        try (LeaseClient early = LeaseClient.open(
                        behind, runtime -> new JdbcStoreProvider().open(StoreUri.parse(server.url()), runtime));
                LeaseClient late = LeaseClient.open(
                        ahead, runtime -> new JdbcStoreProvider().open(StoreUri.parse(server.url()), runtime))) {
            long last = 0;
            for (LeaseClient holder : new LeaseClient[] {late, early, late}) {
                LeaseClient other = holder == late ? early : late;
                OwnerToken owner = holder.owner();
                long token = holder.granted("clocks", owner).grant().tokens().first();
                assertThat(token).isGreaterThan(last);
                long micros = number("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)");
                assertThat(micros - token).isBetween(0L, 60_000_000L);
                last = token;
                assertThat(other.acquire("clocks", other.owner())).isInstanceOf(AcquireReply.Busy.class);
                holder.release("clocks", owner);
            }
        }
    }

    /** The largest fence of deleted rows is kept, even if two clients delete at the same time. */
    @Test
    void theFloorOfTokensIsNeverLowered() throws Exception {
        try (LeaseClient client = open()) {
            client.granted("floor", client.owner());
        }
        String raise =
                io.leasehold.jdbc.dialect.PostgresDialect.dialect().store().raiseFloor();
        for (long floor : new long[] {100, 80}) {
            try (Connection connection = DriverManager.getConnection(server.url());
                    var statement = connection.prepareStatement(raise)) {
                statement.setLong(1, floor);
                statement.executeUpdate();
            }
        }
        assertThat(number("SELECT fence_floor FROM leasehold_store")).isGreaterThanOrEqualTo(100);
    }

    /** The data directory is restored from an hour ago: tokens continue above those that were granted since. */
    @Test
    void tokensIncreaseOverARestoredBackup() throws Exception {
        execute(
                "CREATE TABLE account (id BIGINT PRIMARY KEY, fencing_token BIGINT)",
                "INSERT INTO account VALUES (1, 0)");
        SqlFencingGuard guard = SqlFencingGuard.of("account", "id", "fencing_token");
        Path backup = directory.resolve("backup");
        long before;
        try (LeaseClient client = open()) {
            OwnerToken owner = client.owner();
            before = client.granted("backup", owner).grant().tokens().last();
            client.release("backup", owner);
        }
        server = server.restartedAfter(() -> DataDirectory.copy(server.data(), backup));
        long since = 0;
        try (LeaseClient client = open()) {
            for (int i = 0; i < 20; i++) {
                OwnerToken owner = client.owner();
                since = client.granted("backup", owner).grant().tokens().last();
                client.release("backup", owner);
            }
        }
        // The resource is elsewhere, and keeps the largest token it has seen.
        Admission seenByResource = new Admission.Admitted("account", since);
        server = server.restartedAfter(() -> {
            DataDirectory.delete(server.data());
            DataDirectory.copy(backup, server.data());
        });
        try (LeaseClient client = open();
                Connection connection = DriverManager.getConnection(server.url())) {
            assertThat(number("SELECT fence FROM leasehold_lock WHERE name = 'backup'"))
                    .as("the table has forgotten")
                    .isLessThan(since)
                    .isGreaterThanOrEqualTo(before);
            connection.setAutoCommit(false);
            guard.admit(connection, 1L, seenByResource.token()).orElseThrow();
            long after =
                    client.granted("backup", client.owner()).grant().tokens().first();
            assertThat(after).isGreaterThan(since);
            guard.admit(connection, 1L, after).orElseThrow();
            assertThat(guard.admit(connection, 1L, since)).isInstanceOf(Admission.Rejected.class);
            connection.commit();
        }
    }
}
