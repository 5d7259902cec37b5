package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Faults of a real MariaDB: restarts, killed sessions, locked rows, deadlocks, read-only mode, rights, clocks. */
@Timeout(180)
@Tag("full")
class MariaDbFaultsTest implements ContentionTests, ClientRecordTests {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    private static LeaseClient open(String url) {
        return LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(url), runtime));
    }

    private static void execute(String... statements) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    @Override
    public Connection administrator() throws SQLException {
        return server.connect();
    }

    @Override
    public String urlOfVictim() {
        return server.url();
    }

    @Override
    public String storeUri() {
        return server.url();
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.MARIADB;
    }

    /** Kills all sessions except this one. */
    private static void killSessions() throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            List<Long> others = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery("SELECT id FROM information_schema.PROCESSLIST"
                    + " WHERE id <> CONNECTION_ID() AND user = 'root'")) {
                while (rows.next()) {
                    others.add(rows.getLong(1));
                }
            }
            assertThat(others).as("sessions to kill").isNotEmpty();
            for (long id : others) {
                statement.execute("KILL CONNECTION " + id);
            }
        }
    }

    @Test
    void connectionsKilledWhileHeldCostNothing() throws SQLException {
        try (LeaseClient client = open(server.url())) {
            OwnerToken owner = client.owner();
            AcquireReply.Granted held = client.granted("killed", owner);
            killSessions();
            assertThat(client.renew("killed", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            killSessions();
            assertThat(client.granted("killed too", client.owner()).ballot()).isPositive();
            client.release("killed", owner);
            assertThat(client.granted("killed", client.owner()).ballot()).isGreaterThan(held.ballot());
        }
    }

    @Test
    void aLeaseGoesOnOverARestartOfTheServer() throws Exception {
        try (LockClient locks = Leasehold.builder()
                        .store(server.url())
                        .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(2)))
                        .connect();
                LockClient other = Leasehold.connect(server.url());
                Lease lease = locks.named("restarted").acquire()) {
            server.restart();
            lease.renew();
            assertThat(lease.isValid()).isTrue();
            assertThat(lease.whenEnded().toCompletableFuture().isDone()).isFalse();
            assertThat(other.named("restarted").tryAcquire(Duration.ZERO)).isNull();
            lease.release();
            assertThat(lease.whenEnded().toCompletableFuture().get()).isInstanceOf(HoldEnd.Released.class);
            try (Lease next = other.named("restarted").acquire()) {
                assertThat(next.fencingToken()).isGreaterThan(lease.fencingToken());
            }
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
                last = token;
                assertThat(other.acquire("clocks", other.owner())).isInstanceOf(AcquireReply.Busy.class);
                assertThat(holder.renew("clocks", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
                holder.release("clocks", owner);
            }
        }
    }

    @Test
    void aServerThatCanOnlyBeReadIsOneClearErrorUntilItMayBeWritten() throws SQLException {
        execute("CREATE USER joe IDENTIFIED BY 'pssst'", "GRANT ALL ON app.* TO joe");
        String joe = server.url().replace("user=root", "user=joe&password=pssst");
        open(joe).close();
        execute("SET GLOBAL read_only = ON");
        try (LeaseClient client = open(joe)) {
            assertThat(client.acquire("read only", client.owner()))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .isInstanceOf(StoreUnavailableException.class)
                                    .hasMessageContainingAll("can only be read", "name the primary")
                                    .hasMessageNotContaining("\n"));
            execute("SET GLOBAL read_only = OFF");
            client.granted("read only", client.owner());
        } finally {
            execute("SET GLOBAL read_only = OFF");
        }
    }

    @Test
    void missingRightsAreOneClearErrorAndTheDdlMendsThem() throws SQLException {
        execute("CREATE DATABASE poor", "CREATE USER jane IDENTIFIED BY 'pssst'", "GRANT SELECT ON poor.* TO jane");
        String jane = server.url().replace("/app?user=root", "/poor?user=jane&password=pssst");
        assertThatThrownBy(() -> open(jane).close())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContainingAll("refuses this user", "SqlDialect.ddl()")
                .hasMessageNotContaining("pssst")
                .hasMessageNotContaining("\n");
        try (Connection connection = DriverManager.getConnection(server.url().replace("/app?", "/poor?"));
                Statement statement = connection.createStatement()) {
            for (String sql :
                    SqlDialect.MARIADB.ddl().replaceAll("(?m)^--.*$", "").split(";", -1)) {
                if (!sql.isBlank()) {
                    statement.execute(sql);
                }
            }
            for (String table : new String[] {"leasehold_store", "leasehold_lock", "leasehold_client"}) {
                statement.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON poor." + table + " TO jane");
            }
            try (LeaseClient client = open(jane)) {
                OwnerToken owner = client.owner();
                client.granted("mended", owner);
                client.release("mended", owner);
            }
            statement.execute("UPDATE leasehold_store SET schema_version = 9");
            assertThatThrownBy(() -> open(jane).close())
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContainingAll("version 9", "needs 1");
        }
    }

    private static Finding isolation(String url) {
        try (LockClient locks = Leasehold.connect(url)) {
            return locks.admin().diagnose().stream()
                    .filter(finding -> finding.check().equals("isolation"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void doctorGradesTheIsolationOfRealConnections() {
        assertThat(isolation(server.url()).grade()).isEqualTo(Grade.WARNING);
        assertThat(isolation(server.url() + "&transactionIsolation=READ-COMMITTED")
                        .grade())
                .isEqualTo(Grade.GOOD);
        assertThat(isolation(server.url() + "&transactionIsolation=READ-UNCOMMITTED")
                        .grade())
                .isEqualTo(Grade.UNSAFE);
    }
}
