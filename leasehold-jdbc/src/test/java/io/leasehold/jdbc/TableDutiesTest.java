package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The periodic work of a store, in virtual time over a real database whose statements fail on demand. */
@Tag("quick")
@Timeout(120)
class TableDutiesTest {

    private static final AtomicInteger DATABASES = new AtomicInteger();
    private static final Duration KEPT = Duration.ofSeconds(15);

    private final String url = "jdbc:h2:mem:duties-" + DATABASES.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
    private final SqlHook hook = new SqlHook();
    private final SimpleDataSource source =
            new SimpleDataSource(() -> losing(SqlHook.driver(url).getConnection()));
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final AtomicBoolean losesCommit = new AtomicBoolean();
    private final Heard heard = new Heard();
    private LeaseClient client;

    /** The signals that the engine would receive. */
    private static final class Heard implements StoreSignals {
        private final List<String> signals = new ArrayList<>();

        @Override
        public void wake(LockName name) {
            signals.add("wake " + name);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            signals.add("lost");
        }

        @Override
        public void takenAway(LockName name) {
            signals.add("taken away " + name);
        }

        @Override
        public void reconnected() {
            signals.add("reconnected");
        }
    }

    @BeforeEach
    void open() {
        client = LeaseClient.open(runtime, opened -> JdbcStores.over(hook.over(source), SqlDialect.H2, opened));
        client.store.listen(heard);
    }

    @AfterEach
    void close() throws SQLException {
        client.close();
        execute("SHUTDOWN");
    }

    /** A connection that loses the reply to a commit, once, on demand. */
    private Connection losing(Connection real) {
        return (Connection) Proxy.newProxyInstance(
                TableDutiesTest.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
                    Object result = method.invoke(real, args);
                    if (method.getName().equals("commit") && losesCommit.getAndSet(false)) {
                        throw new SQLException("the connection is broken", "08006");
                    }
                    return result;
                });
    }

    /** The acquire may have been granted: a caller that is told the opposite would repeat it, and not release it. */
    @Test
    void aCommitWhoseAnswerIsLostIsNotSaidToHaveHadNoEffect() throws Exception {
        for (int i = 0; i < 2; i++) {
            losesCommit.set(true);
            assertThat(acquire("lost-" + i, client.owner(), Duration.ofMinutes(1)))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
            assertThat(acquire("lost-" + i, client.owner(), KEPT)).isInstanceOf(AcquireReply.Busy.class);
        }
    }

    private <T> T get(CompletableFuture<T> future) throws InterruptedException, ExecutionException {
        runtime.await(future);
        return future.get();
    }

    private AcquireReply acquire(String name, OwnerToken owner, Duration ttl) throws Exception {
        return get(client.store.acquire(AcquireRequest.exclusive(
                List.of(LockName.exactly(name)), owner, "test", ttl.toNanos(), LeaseClient.LIMIT.toNanos())));
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Breaks the connection this many times from now on, at the next statement that contains this text. */
    private void breaks(String part, int times) {
        if (times > 0) {
            hook.before(part, () -> {
                breaks(part, times - 1);
                throw new SQLException("the connection is broken", "08006");
            });
        }
    }

    /** The store keeps a pool's connection as long as a hold may need it: the release must not wait for others. */
    @Test
    void theConnectionIsKeptWhileAHoldMayLast() throws Exception {
        OwnerToken owner = client.owner();
        Duration ttl = Duration.ofMinutes(10);
        assertThat(acquire("x", owner, ttl)).isInstanceOf(AcquireReply.Granted.class);
        runtime.runFor(Duration.ofMinutes(10));
        assertThat(source.last().isClosed()).as("while a lease may last").isFalse();
        List<RenewBatch.Item> items = List.of(
                new RenewBatch.Item(
                        LockName.exactly("y"), owner, Duration.ofSeconds(1).toNanos()),
                new RenewBatch.Item(LockName.exactly("x"), owner, ttl.toNanos()));
        get(client.store.renew(new RenewBatch(items, LeaseClient.LIMIT.toNanos())));
        runtime.runFor(Duration.ofMinutes(10));
        assertThat(source.last().isClosed())
                .as("while a renewed lease may last")
                .isFalse();
        runtime.runFor(Duration.ofSeconds(31));
        assertThat(source.last().isClosed()).as("when none can need it").isTrue();
        acquire("z", owner, Duration.ofSeconds(1));
        assertThat(source.last().isClosed()).as("used again").isFalse();
        runtime.runFor(Duration.ofSeconds(32));
        assertThat(source.last().isClosed()).as("given back again").isTrue();
    }

    /**
     * One broken connection costs a request nothing; when the database is back, the engine is notified once each time.
     */
    @Test
    void whenTheDatabaseIsBackTheEngineIsToldOnce() throws Exception {
        breaks("FOR UPDATE", 1);
        assertThat(acquire("one", client.owner(), KEPT)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(heard.signals).containsExactly("reconnected");
        for (int i = 0; i < 2; i++) {
            heard.signals.clear();
            breaks("FOR UPDATE", 4);
            assertThat(acquire("two-" + i, client.owner(), KEPT)).isInstanceOf(AcquireReply.Failed.class);
            assertThat(acquire("three-" + i, client.owner(), KEPT)).isInstanceOf(AcquireReply.Failed.class);
            assertThat(heard.signals).isEmpty();
            assertThat(acquire("four-" + i, client.owner(), KEPT)).isInstanceOf(AcquireReply.Granted.class);
            assertThat(heard.signals).containsExactly("reconnected");
            assertThat(acquire("five-" + i, client.owner(), KEPT)).isInstanceOf(AcquireReply.Granted.class);
            assertThat(heard.signals).containsExactly("reconnected");
        }
    }

    @Test
    void aReleaseThatFailedMayBeRepeatedUntilItArrives() throws Exception {
        OwnerToken owner = client.owner();
        acquire("x", owner, Duration.ofMinutes(10));
        for (int i = 0; i < 3; i++) {
            breaks("FOR UPDATE", 2);
            assertThat(get(client.store.release(LeaseClient.releaseRequest("x", owner, 0))))
                    .isInstanceOf(ReleaseReply.Failed.class);
            assertThat(acquire("x", client.owner(), KEPT)).isInstanceOf(AcquireReply.Busy.class);
        }
        get(client.store.release(LeaseClient.releaseRequest("x", owner, 0)));
        assertThat(acquire("x", client.owner(), KEPT)).isInstanceOf(AcquireReply.Granted.class);
    }

    /** A failed renewal reports that, and the next one finds the hold unchanged. */
    @Test
    void renewalsGoOnWhateverHasFailed() throws Exception {
        OwnerToken owner = client.owner();
        acquire("x", owner, Duration.ofMinutes(10));
        RenewBatch batch = new RenewBatch(
                List.of(new RenewBatch.Item(
                        LockName.exactly("x"), owner, Duration.ofMinutes(20).toNanos())),
                LeaseClient.LIMIT.toNanos());
        for (int i = 0; i < 3; i++) {
            breaks("FOR UPDATE", 2);
            assertThat(get(client.store.renew(batch)).items().get(0)).isInstanceOf(RenewReply.Failed.class);
        }
        assertThat(get(client.store.renew(batch)).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
    }

    private ClientRecord record() {
        return new ClientRecord("host/1/me", "host", 1, "me", Instant.EPOCH, List.of());
    }

    private void announce() throws Exception {
        get(client.store.operations().announce(record(), KEPT.toNanos()));
    }

    @Test
    void whatAClientTellsIsKeptForItsTimeAndToldAgainAfterAFailure() throws Exception {
        for (int i = 0; i < 3; i++) {
            breaks("INTO leasehold_client", 2);
            assertThatThrownBy(this::announce).isInstanceOf(ExecutionException.class);
            long beforeMillis = System.currentTimeMillis();
            announce();
            long expiresAtMillis = number("SELECT expires_at FROM leasehold_client") / 1_000_000;
            assertThat(expiresAtMillis)
                    .isBetween(beforeMillis + KEPT.toMillis() - 1, System.currentTimeMillis() + KEPT.toMillis() + 1);
            assertThat(get(client.store.operations().client("host/1/me"))).isPresent();
            execute("DELETE FROM leasehold_client");
        }
    }

    /** Once a minute, and not only the first time. */
    @Test
    void recordsThatHaveExpiredAreDeletedAgainAndAgain() throws Exception {
        for (int i = 0; i < 3; i++) {
            execute("INSERT INTO leasehold_client (holder, origin, expires_at, told)"
                    + " VALUES ('dead', 'database', 1, 'x')");
            for (int records = 0; records < 12; records++) {
                announce();
            }
            runtime.runFor(Duration.ofSeconds(1));
            assertThat(number("SELECT COUNT(*) FROM leasehold_client WHERE holder = 'dead'"))
                    .isZero();
        }
    }

    @Test
    void aWordAboutALockThatWasTakenIsToldOnce() throws Exception {
        announce();
        for (int i = 0; i < 2; i++) {
            heard.signals.clear();
            execute("UPDATE leasehold_client SET taken = 'a lock'");
            announce();
            announce();
            assertThat(heard.signals).containsExactly("taken away a lock");
        }
    }
}
