package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.Finding;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Other transactions in the way, at a real PostgreSQL; and the records of clients there. */
@Timeout(180)
@Tag("full")
class PostgresContentionTest implements ContentionTests, ClientRecordTests {

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

    @Override
    public Connection administrator() throws SQLException {
        // Never the first session to check for a deadlock.
        return DriverManager.getConnection(server.url() + "&options=-c%20deadlock_timeout=1h");
    }

    @Override
    public String urlOfVictim() {
        // Before the limit on the wait for a row, and long enough for the rival to arrive.
        return server.url() + "&options=-c%20deadlock_timeout=150ms";
    }

    @Override
    public String storeUri() {
        return server.url();
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.POSTGRESQL;
    }

    /** This server does not wait for the disk; {@link PostgresDoctorTest} has one that does. */
    @Test
    void doctorSaysThatTheServerDoesNotWaitForTheDisk() {
        try (LockClient locks = Leasehold.connect(server.url())) {
            assertThat(locks.admin().diagnose())
                    .filteredOn(finding -> finding.check().equals("durability"))
                    .singleElement()
                    .satisfies(finding -> {
                        assertThat(finding.grade()).isEqualTo(Finding.Grade.UNSAFE);
                        assertThat(finding.remedy()).contains("fsync = on");
                    });
        }
    }

    /** Another transaction writes the row while this serializable one waits for it. */
    @Test
    void aSerializationFailureIsTriedAgainAndNothingIsLost() throws Exception {
        SqlWitness witness = new SqlWitness();
        String url = server.url() + "&options=-c%20default_transaction_isolation=serializable";
        try (LeaseClient client = LeaseClient.open(
                        runtime -> JdbcStores.over(witness.over(url), SqlDialect.POSTGRESQL, runtime));
                Connection rival = administrator();
                Connection looking = administrator();
                Statement statement = rival.createStatement()) {
            OwnerToken first = client.owner();
            long last = client.granted("serialized", first).grant().tokens().last();
            client.release("serialized", first);
            rival.setAutoCommit(false);
            for (int round = 0; round < 30 && !witness.saw("40001"); round++) {
                statement.execute(
                        "UPDATE leasehold_lock SET waiting_since = waiting_since + 1" + " WHERE name = 'serialized'");
                OwnerToken owner = client.owner();
                CompletableFuture<AcquireReply> waiting =
                        client.store.acquire(LeaseClient.request("serialized", owner));
                awaitWait(looking, waiting);
                rival.commit();
                AcquireReply.Granted granted = (AcquireReply.Granted) waiting.get(60, TimeUnit.SECONDS);
                assertThat(granted.grant().tokens().first()).isGreaterThan(last);
                last = granted.grant().tokens().last();
                client.release("serialized", owner);
            }
            assertThat(witness.saw("40001")).as("a serialization failure").isTrue();
        }
    }

    /**
     * Whether the request was seen to wait for a row. A slow machine may see nothing: the client waits for a row briefly,
     * and less often from then on.
     */
    private static boolean awaitWait(Connection looking, CompletableFuture<?> request) throws SQLException {
        long startAtNanos = System.nanoTime();
        while (!request.isDone() && System.nanoTime() - startAtNanos < TimeUnit.SECONDS.toNanos(5)) {
            try (Statement statement = looking.createStatement();
                    var rows = statement.executeQuery(
                            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) {
                if (rows.next() && rows.getLong(1) > 0) {
                    return true;
                }
            }
            LockSupport.parkNanos(1_000_000);
        }
        return false;
    }

    /** A request for two locks against a transaction that locks their rows in the other order. */
    @Test
    void aDeadlockIsTriedAgainAndNothingIsLost() throws Exception {
        SqlWitness witness = new SqlWitness();
        try (LeaseClient client = open(witness);
                Connection rival = administrator();
                Connection looking = administrator()) {
            ContentionTests.makeRow(client, "contention a");
            ContentionTests.makeRow(client, "contention b");
            long last = 0;
            for (int round = 0; round < 30 && !sawDeadlock(witness); round++) {
                rival.setAutoCommit(false);
                ContentionTests.lockRow(rival, "contention b");
                OwnerToken owner = client.owner();
                CompletableFuture<AcquireReply> both = client.store.acquire(AcquireRequest.exclusive(
                        List.of(LockName.exactly("contention a"), LockName.exactly("contention b")),
                        owner,
                        "test",
                        LeaseClient.TTL.toNanos(),
                        Duration.ofMinutes(1).toNanos()));
                if (awaitWait(looking, both)) {
                    try {
                        ContentionTests.lockRow(rival, "contention a");
                        assertThat(both).as("the rival has both rows").isNotDone();
                    } catch (SQLException itWasTheVictim) {
                        assertThat(itWasTheVictim.getSQLState()).startsWith("40");
                    }
                }
                rival.rollback();
                AcquireReply.Granted granted = (AcquireReply.Granted) both.get(60, TimeUnit.SECONDS);
                assertThat(granted.grant().tokens().first()).isGreaterThan(last);
                last = granted.grant().tokens().last();
                for (String name : new String[] {"contention a", "contention b"}) {
                    assertThat(client.acquire(name, client.owner()))
                            .as("held: " + name)
                            .isInstanceOf(AcquireReply.Busy.class);
                    assertThat(client.renew(name, owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
                    client.release(name, owner);
                }
            }
            assertThat(sawDeadlock(witness))
                    .as("our transaction was the victim")
                    .isTrue();
        }
    }

    /** A migration, a backup or an administrator locks the whole table: for all statements, or only for those that write. */
    @ParameterizedTest
    @ValueSource(strings = {"ACCESS EXCLUSIVE", "SHARE"})
    void aTableThatIsLockedLeavesNoProcessesOfTheServerBehind(String mode) throws Exception {
        try (LeaseClient client = open(new SqlWitness());
                Connection keeper = administrator();
                Connection looking = administrator()) {
            ContentionTests.makeRow(client, "locked table " + mode);
            keeper.setAutoCommit(false);
            try (Statement statement = keeper.createStatement()) {
                statement.execute("LOCK TABLE leasehold_lock IN " + mode + " MODE");
            }
            long startAtNanos = System.nanoTime();
            int requests = 0;
            while (System.nanoTime() - startAtNanos < TimeUnit.SECONDS.toNanos(18)) {
                AcquireRequest brief = AcquireRequest.exclusive(
                        List.of(LockName.exactly("locked table " + mode)),
                        client.owner(),
                        "test",
                        LeaseClient.TTL.toNanos(),
                        Duration.ofSeconds(1).toNanos());
                assertThat(client.acquire(brief)).isInstanceOf(AcquireReply.Failed.class);
                requests++;
            }
            assertThat(waitingForTheTable(looking))
                    .as("server processes after %s requests", requests)
                    .isLessThanOrEqualTo(4);
            keeper.rollback();
            client.granted("unlocked table " + mode, client.owner());
        }
    }

    private static long waitingForTheTable(Connection looking) throws SQLException {
        try (Statement statement = looking.createStatement();
                var rows = statement.executeQuery(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'leasehold_lock'::regclass")) {
            assertThat(rows.next()).isTrue();
            return rows.getLong(1);
        }
    }

    private static boolean sawDeadlock(SqlWitness witness) {
        return witness.saw("40P01");
    }
}
