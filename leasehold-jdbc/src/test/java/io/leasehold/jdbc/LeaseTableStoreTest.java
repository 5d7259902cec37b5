package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import io.leasehold.testkit.virtual.SteppedWallClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What the backend contract leaves open: the store's own bounds, several names, the deletion of rows, and shutting
 * down.
 */
@Tag("quick")
class LeaseTableStoreTest {

    @TempDir
    private Path directory;

    enum Database {
        SQLITE,
        H2_DATA_SOURCE
    }

    private final JdbcDataSource dataSource = dataSource();

    private static JdbcDataSource dataSource() {
        JdbcDataSource made = new JdbcDataSource();
        made.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        return made;
    }

    private Path file() {
        return directory.resolve("locks.db");
    }

    private LeaseClient open(Database database, SteppedWallClock clock) {
        if (database == Database.SQLITE) {
            return LeaseClient.open(clock, runtime -> SqliteStore.open(file(), runtime));
        }
        return LeaseClient.open(clock, runtime -> JdbcStores.over(dataSource, SqlDialect.H2, runtime));
    }

    private LeaseClient open(Database database) {
        return open(database, new SteppedWallClock(new SystemLockRuntime()));
    }

    private static AcquireRequest both(OwnerToken owner) {
        List<LockName> names = List.of(LockName.exactly("b"), LockName.exactly("a"));
        return AcquireRequest.exclusive(names, owner, "test", LeaseClient.TTL.toNanos(), LeaseClient.LIMIT.toNanos());
    }

    @ParameterizedTest
    @EnumSource
    void severalLocksAreHeldTogetherOrNotAtAll(Database database) {
        try (LeaseClient client = open(database);
                LeaseClient other = open(database)) {
            OwnerToken one = other.owner();
            other.granted("b", one);
            OwnerToken owner = client.owner();
            assertThat(client.acquire(both(owner))).isInstanceOf(AcquireReply.Busy.class);
            assertThat(client.store.admin().describe(LockName.exactly("a")).join())
                    .isEmpty();
            other.release("b", one);
            AcquireReply reply = client.acquire(both(owner));
            assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
            assertThat(other.acquire("a", one)).isInstanceOf(AcquireReply.Busy.class);
            assertThat(client.store
                            .release(new ReleaseRequest(
                                    both(owner).names(),
                                    owner,
                                    reply.ballot(),
                                    ReleaseRequest.Kind.RELEASE,
                                    LeaseClient.LIMIT.toNanos()))
                            .join())
                    .isInstanceOf(ReleaseReply.Released.class);
            assertThat(other.granted("a", other.owner()).ballot()).isGreaterThan(reply.ballot());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aReleaseThatComesBeforeItsAcquireRaisesTheFence(Database database) {
        try (LeaseClient client = open(database)) {
            long ballot = client.runtime.wallMillis() * 1000 + 3_000_000;
            client.store
                    .release(LeaseClient.releaseRequest("x", client.owner(), ballot))
                    .join();
            assertThat(client.granted("x", client.owner()).grant().tokens().first())
                    .isGreaterThan(ballot);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anAbsurdTokenIsRefusedAndPoisonsNothing(Database database) {
        try (LeaseClient client = open(database)) {
            OwnerToken owner = client.owner();
            assertThat(client.acquire(LeaseClient.request("x", owner).seenToken(TokenRange.LIMIT - 2)))
                    .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                        assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                        assertThat(failed.error()).hasMessageContaining("2^53");
                    });
            client.store
                    .release(LeaseClient.releaseRequest("x", owner, TokenRange.LIMIT - 2))
                    .join();
            assertThat(client.granted("x", client.owner()).grant().tokens().first())
                    .isLessThan(client.runtime.wallMillis() * 1000 + 10_000_000);
        }
    }

    /** Rows of unused locks are deleted, and their tokens keep increasing even if the clock goes back. */
    @ParameterizedTest
    @EnumSource
    void unusedRowsAreForgottenButTheirTokensAreNot(Database database) throws SQLException {
        SteppedWallClock clock = new SteppedWallClock(new SystemLockRuntime());
        try (LeaseClient client = open(database, clock)) {
            OwnerToken held = client.owner();
            client.granted("held", held);
            long token = 0;
            for (int i = 0; i < 70; i++) {
                token = cycle(client, "old-" + i);
            }
            if (database == Database.SQLITE) {
                clock.step(Duration.ofHours(25));
            } else {
                // The database's own clock cannot be set; its rows can.
                execute("UPDATE leasehold_lock SET fence = fence - 90000000000");
                token -= 90_000_000_000L;
            }
            for (int i = 0; i < 130; i++) {
                cycle(client, "new-" + i);
            }
            assertThat(rows(database, "old-%")).isZero();
            assertThat(rows(database, "new-%")).isEqualTo(130);
            assertThat(client.store.admin().describe(LockName.exactly("held")).join())
                    .isPresent();
            clock.step(Duration.ofHours(-100));
            assertThat(cycle(client, "old-69")).isGreaterThan(token);
            client.release("held", held);
        }
    }

    private static long cycle(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        long token = client.granted(name, owner).grant().tokens().last();
        client.release(name, owner);
        return token;
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private int rows(Database database, String like) throws SQLException {
        try (Connection connection = database == Database.SQLITE
                        ? DriverManager.getConnection("jdbc:sqlite:" + file())
                        : dataSource.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT count(*) FROM leasehold_lock WHERE name LIKE '" + like + "'")) {
            row.next();
            return row.getInt(1);
        }
    }

    /** Makes the worker wait for the write lock. */
    private static final class Blocker implements AutoCloseable {
        private final Connection connection;

        Blocker(Path file) throws SQLException {
            connection = DriverManager.getConnection("jdbc:sqlite:" + file);
            execute("BEGIN IMMEDIATE");
        }

        void execute(String sql) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }

        @Override
        public void close() throws SQLException {
            connection.close();
        }
    }

    @Test
    void anAcquireThatWaitsIsTakenBackByItsRelease() throws Exception {
        try (LeaseClient client = open(Database.SQLITE)) {
            CompletableFuture<AcquireReply> first;
            CompletableFuture<ReleaseReply> released;
            try (Blocker blocker = new Blocker(file())) {
                first = client.store.acquire(LeaseClient.request("first", client.owner()));
                OwnerToken withdrawn = client.owner();
                CompletableFuture<AcquireReply> second = client.store.acquire(LeaseClient.request("second", withdrawn));
                released = client.store.release(LeaseClient.releaseRequest("second", withdrawn, 0));
                assertThat(second.get(10, TimeUnit.SECONDS))
                        .isInstanceOfSatisfying(
                                AcquireReply.Failed.class,
                                failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
                blocker.execute("ROLLBACK");
            }
            assertThat(first.join()).isInstanceOf(AcquireReply.Granted.class);
            assertThat(released.join()).isInstanceOf(ReleaseReply.NotOurs.class);
            assertThat(client.store.admin().describe(LockName.exactly("second")).join())
                    .isEmpty();
        }
    }

    @Test
    void tooManyWaitingAcquiresAreRefusedAndClosingAnswersTheRest() throws Exception {
        LeaseClient client = open(Database.SQLITE);
        List<CompletableFuture<AcquireReply>> replies = new ArrayList<>();
        try (Blocker blocker = new Blocker(file())) {
            for (int i = 0; i < 20_010; i++) {
                replies.add(client.store.acquire(LeaseClient.request("lock-" + i, client.owner())));
            }
            assertThat(replies.get(20_009))
                    .isCompletedWithValueMatching(reply -> reply instanceof AcquireReply.Failed failed
                            && failed.error().getMessage().contains("slow down"));
            assertThat(replies.get(100)).isNotDone();
            client.close();
            blocker.execute("ROLLBACK");
        }
        for (CompletableFuture<AcquireReply> reply : replies) {
            assertThat(reply.get(30, TimeUnit.SECONDS))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aClosedStoreRefusesWithoutEffect(Database database) {
        LeaseClient client = open(database);
        LockStore store = client.store;
        OwnerToken owner = client.owner();
        client.close();
        assertThat(store.acquire(LeaseClient.request("x", owner)).join())
                .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                    assertThat(failed.error()).hasMessageContaining("closed");
                });
        assertThat(store.release(LeaseClient.releaseRequest("x", owner, 0)).join())
                .isInstanceOf(ReleaseReply.Failed.class);
        assertThatThrownBy(() -> store.admin().list("*", 1).join())
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(StoreUnavailableException.class);
        store.close();
    }

    /** A remaining file would be swept by others, and until then say that this process is dead. */
    @Test
    void theCloseEndsTheProofOfLife() throws IOException {
        LeaseClient client = open(Database.SQLITE);
        assertThat(lives()).hasSize(1);
        client.close();
        assertThat(lives()).isEmpty();
    }

    private List<Path> lives() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.getFileName().toString().contains("-life-"))
                    .toList();
        }
    }

    /** The code that interrupted the closing thread relies on its interrupt status. */
    @ParameterizedTest
    @EnumSource
    void anInterruptAtTheCloseIsKept(Database database) {
        LeaseClient client = open(database);
        Thread.currentThread().interrupt();
        client.store.close();
        boolean kept = Thread.interrupted();
        client.close();
        assertThat(kept).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void aMissingTableIsOneClearError(Database database) throws SQLException {
        try (LeaseClient client = open(database)) {
            client.granted("x", client.owner());
            if (database == Database.SQLITE) {
                try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                        Statement statement = connection.createStatement()) {
                    statement.execute("DROP TABLE leasehold_lock");
                }
            } else {
                execute("DROP TABLE leasehold_lock");
            }
            assertThat(client.acquire("x", client.owner()))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .hasMessageContaining("acquire of [x] at " + client.store.description())
                                    .hasMessageNotContaining("\n"));
        }
    }
}
