package io.leasehold.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import io.leasehold.jdbc.SqlFencingGuard;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A lock moves from one kind of store to another; the resource, a row with its fence, stays in its place. */
@Timeout(180)
@Tag("full")
final class StoreMoveTest {

    @TempDir
    private static Path directory;

    private static @Nullable RedisServer redis;
    private static @Nullable EmbeddedPostgres postgres;

    private final SqlFencingGuard guard = SqlFencingGuard.of("account", "id", "fencing_token");

    @BeforeAll
    static void startServers() throws IOException {
        assumeTrue(
                (System.getProperty("os.name") + " " + System.getProperty("os.arch")).equals("Linux amd64"),
                "no PostgreSQL server here: the archive is for Linux on x86-64");
        try {
            redis = RedisServer.start();
        } catch (ServerUnavailableException e) {
            Assumptions.abort("no Redis server on this machine: " + e.getMessage());
        }
        postgres = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setOverrideWorkingDirectory(directory.resolve("binaries").toFile())
                .setLocaleConfig("locale", "C")
                .setPGStartupWait(Duration.ofMinutes(2))
                .start();
    }

    @AfterAll
    static void stopServers() throws IOException {
        if (postgres != null) {
            postgres.close();
        }
        if (redis != null) {
            redis.close();
        }
    }

    @BeforeEach
    void makeAccount() throws SQLException {
        try (Connection connection = DriverManager.getConnection(postgresUri());
                Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS account");
            statement.execute(
                    "CREATE TABLE account (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL, fencing_token BIGINT)");
            statement.execute("INSERT INTO account VALUES (1, 0, NULL)");
        }
    }

    private static String postgresUri() {
        return postgres.getJdbcUrl("postgres", "postgres");
    }

    private static String redisUri() {
        return redis.uri().toString();
    }

    private static String sqliteUri() {
        return "sqlite:" + directory.resolve("locks.db");
    }

    /** Reads and writes under the token, as two transactions of one holder. */
    private void increment(long token) throws SQLException {
        try (Connection connection = DriverManager.getConnection(postgresUri())) {
            connection.setAutoCommit(false);
            guard.admit(connection, 1L, token).orElseThrow();
            long amount = amount(connection);
            connection.commit();
            guard.admit(connection, 1L, token).orElseThrow();
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("UPDATE account SET amount = " + (amount + 1) + " WHERE id = 1");
            }
            connection.commit();
        }
    }

    private static long amount(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT amount FROM account WHERE id = 1")) {
            row.next();
            return row.getLong(1);
        }
    }

    @Test
    void tokensGoOnIncreasingOverEveryMove() throws Exception {
        long last = 0;
        long acknowledged = 0;
        for (String uri :
                List.of(redisUri(), postgresUri(), sqliteUri(), postgresUri(), redisUri(), sqliteUri(), redisUri())) {
            try (LockClient client = Leasehold.connect(uri)) {
                for (int i = 0; i < 5; i++) {
                    try (Lease lease = client.named("account:1").acquire()) {
                        assertThat(lease.fencingToken())
                                .as("at %s", client.storeDescription())
                                .isGreaterThan(last);
                        increment(lease.fencingToken());
                        acknowledged++;
                        long stale = last;
                        if (stale > 0) {
                            assertThatThrownBy(() -> increment(stale)).isInstanceOf(StaleTokenException.class);
                        }
                        last = lease.fencingToken();
                    }
                }
            }
        }
        try (Connection connection = DriverManager.getConnection(postgresUri())) {
            assertThat(amount(connection)).isEqualTo(acknowledged);
        }
    }

    /** A holder at the old store that was stopped before the move is refused after it. */
    @Test
    void aHolderThatWasStoppedBeforeTheMoveIsRejected() throws Exception {
        try (LockClient old = Leasehold.connect(redisUri());
                LockClient next = Leasehold.connect(postgresUri())) {
            Lease stopped = old.named("account:1").acquire();
            increment(stopped.fencingToken());
            try (Lease lease = next.named("account:1").acquire()) {
                increment(lease.fencingToken());
            }
            try (Connection connection = DriverManager.getConnection(postgresUri())) {
                connection.setAutoCommit(false);
                assertThat(guard.admit(connection, 1L, stopped.fencingToken())).isInstanceOf(Admission.Rejected.class);
                connection.rollback();
                assertThat(amount(connection)).isEqualTo(2);
            }
            stopped.release();
        }
    }

    /** The action while both locks are held. */
    private interface Both {
        void held(Lease older, Lease newer) throws Exception;
    }

    /** The recipe of docs/fencing.md; false if one of the two stayed busy for {@code maxWait}. */
    private static boolean holdingBoth(DistributedLock old, DistributedLock next, Duration maxWait, Both work)
            throws Exception {
        try (Lease older = old.tryAcquire(maxWait)) {
            if (older == null) {
                return false;
            }
            try (Lease newer = next.tryAcquire(maxWait)) {
                if (newer == null) {
                    return false;
                }
                older.ensureValidFor(Duration.ofSeconds(1));
                newer.ensureValidFor(Duration.ofSeconds(1));
                work.held(older, newer);
                return true;
            }
        }
    }

    /**
     * A holder of both locks excludes processes that still take only the old one, and processes that already take only
     * the new one.
     */
    @Test
    void bothLocksExcludeBothSides() throws Exception {
        try (LockClient old = Leasehold.connect(redisUri());
                LockClient oldOnly = Leasehold.connect(redisUri());
                LockClient next = Leasehold.connect(postgresUri());
                LockClient nextOnly = Leasehold.connect(postgresUri())) {
            DistributedLock older = old.named("b");
            DistributedLock newer = next.named("b");
            boolean worked = holdingBoth(older, newer, Duration.ofMinutes(1), (one, other) -> {
                assertThat(oldOnly.named("b").tryAcquire(Duration.ZERO)).isNull();
                assertThat(nextOnly.named("b").tryAcquire(Duration.ZERO)).isNull();
                assertThat(holdingBoth(older, newer, Duration.ZERO, (again, once) -> {}))
                        .isFalse();
            });
            assertThat(worked).isTrue();
            try (Lease busy = nextOnly.named("b").acquire()) {
                assertThat(holdingBoth(older, newer, Duration.ZERO, (one, other) -> {}))
                        .isFalse();
                assertThat(busy.isValid()).isTrue();
                // The first lock was released when the second was not available.
                try (Lease free = oldOnly.named("b").tryAcquire(Duration.ofSeconds(10))) {
                    assertThat(free).isNotNull();
                }
            }
        }
    }

    @Test
    void nothingIsHeldIfTheSecondStoreCannotServe() throws Exception {
        try (LockClient old = Leasehold.connect(redisUri());
                LockClient oldOnly = Leasehold.connect(redisUri());
                LockClient next = Leasehold.builder()
                        .store("jdbc:postgresql://127.0.0.1:" + postgres.getPort() + "/postgres?user=postgres")
                        .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(3)))
                        .connect()) {
            DistributedLock older = old.named("c");
            DistributedLock newer = next.named("c");
            try (Connection connection = DriverManager.getConnection(postgresUri());
                    Statement statement = connection.createStatement()) {
                statement.execute("ALTER TABLE leasehold_lock RENAME TO leasehold_lock_away");
                assertThatThrownBy(() -> holdingBoth(older, newer, Duration.ofMinutes(1), (one, other) -> {}))
                        .isInstanceOf(LockStoreException.class);
                try (Lease free = oldOnly.named("c").tryAcquire(Duration.ofSeconds(10))) {
                    assertThat(free).as("the first was given back").isNotNull();
                }
                statement.execute("ALTER TABLE leasehold_lock_away RENAME TO leasehold_lock");
            }
            assertThat(holdingBoth(
                            older,
                            newer,
                            Duration.ofMinutes(1),
                            (one, other) -> assertThat(other.fencingToken()).isPositive()))
                    .isTrue();
        }
    }
}
