package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.ClientRecord;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.PostgresDialect;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Waiting at PostgreSQL by notifications, on which nothing depends. */
@Timeout(120)
@Tag("full")
class PostgresWaitingTest {

    private static final long RECHECK_NANOS = Duration.ofMinutes(5).toNanos();

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

    private static final class Ear implements StoreSignals {
        private final BlockingQueue<LockName> woken = new LinkedBlockingQueue<>();
        private final BlockingQueue<LockName> taken = new LinkedBlockingQueue<>();

        @Override
        public void takenAway(LockName name) {
            taken.add(name);
        }

        @Override
        public void wake(LockName name) {
            woken.add(name);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {}

        @Override
        public void reconnected() {}

        void awaitWake() throws InterruptedException {
            assertThat(woken.poll(60, TimeUnit.SECONDS)).isNotNull();
        }
    }

    /** Counts borrowed connections, and lends at most this many at once. */
    private static final class Lending {
        private final AtomicInteger borrowed = new AtomicInteger();
        private final Semaphore connections;

        Lending(int most) {
            connections = new Semaphore(most);
        }

        DataSource dataSource() {
            return (DataSource) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
                        assertThat(method.getName()).isEqualTo("getConnection");
                        borrowed.incrementAndGet();
                        if (!connections.tryAcquire(10, TimeUnit.SECONDS)) {
                            throw new SQLException("the pool has no connection left", "08003");
                        }
                        return lent(DriverManager.getConnection(server.url()));
                    });
        }

        private Connection lent(Connection real) {
            return (Connection) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        if ((method.getName().equals("close")
                                        || method.getName().equals("abort"))
                                && !real.isClosed()) {
                            connections.release();
                        }
                        try {
                            return method.invoke(real, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getTargetException();
                        }
                    });
        }
    }

    private static LeaseClient open(Lending lending) {
        return LeaseClient.open(runtime -> JdbcStores.over(lending.dataSource(), SqlDialect.POSTGRESQL, runtime));
    }

    private static Ear listen(LeaseClient client) {
        Ear ear = new Ear();
        client.store.listen(ear);
        return ear;
    }

    private static AcquireRequest waiting(String name, OwnerToken owner) {
        return LeaseClient.request(name, owner).waiting(RECHECK_NANOS);
    }

    /** Polls until the store promises a wake-up. */
    private static void queue(LeaseClient waiter, AcquireRequest request) throws InterruptedException {
        long startAtNanos = System.nanoTime();
        while (waiter.acquire(request) instanceof AcquireReply.Busy) {
            assertThat(System.nanoTime() - startAtNanos)
                    .isLessThan(Duration.ofSeconds(60).toNanos());
            Thread.sleep(10);
        }
    }

    /** The client writes its record once, and not again during the test: it learns of the release by a notification. */
    @Test
    void aHolderThatListensIsToldAtOnceThatItsLockWasTaken() throws Exception {
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient other = open(new Lending(10))) {
            Ear ear = listen(holder);
            Ear innocent = listen(other);
            other.granted("wanted", other.owner());
            holder.granted("taken", holder.owner());
            queue(holder, waiting("wanted", holder.owner()));
            queue(other, waiting("taken", other.owner()));
            for (LeaseClient client : new LeaseClient[] {holder, other}) {
                String id = client == holder ? "test" : "somebody";
                client.store
                        .operations()
                        .announce(
                                new ClientRecord(id, "host", 1, "", Instant.EPOCH, List.of()),
                                Duration.ofMinutes(1).toNanos())
                        .join();
            }
            assertThat(other.store
                            .admin()
                            .forceRelease(LockName.exactly("taken"), "test")
                            .join())
                    .isTrue();
            assertThat(ear.taken.poll(60, TimeUnit.SECONDS)).isEqualTo(LockName.exactly("taken"));
            innocent.awaitWake();
            assertThat(innocent.taken).isEmpty();
        }
    }

    @Test
    void aReleaseElsewhereWakesTheWaiterWhichAskedNothingMeanwhile() throws InterruptedException {
        Lending lending = new Lending(10);
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient waiter = open(lending)) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("quiet", held);
            OwnerToken owner = waiter.owner();
            queue(waiter, waiting("quiet", owner));
            ear.woken.clear();
            String before = lastAsked();
            assertThat(ear.woken.poll(3, TimeUnit.SECONDS)).isNull();
            assertThat(lastAsked()).as("sessions that were used while waiting").isEqualTo(before);
            holder.release("quiet", held);
            ear.awaitWake();
            assertThat(waiter.acquire(waiting("quiet", owner))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** The time at which each session that does not listen was used last. */
    private static String lastAsked() {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT string_agg(pid || ' ' || state_change, ',' ORDER BY pid)"
                        + " FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                        + " AND query NOT LIKE 'LISTEN%' AND query <> 'SELECT 1'")) {
            rows.next();
            return String.valueOf(rows.getString(1));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** The first waiter leaves without notifying the second, which was not noted: the second is woken all the same. */
    @Test
    void whoIsBehindAWaiterThatLeftIsWoken() throws InterruptedException {
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient first = open(new Lending(10));
                LeaseClient second = open(new Lending(10))) {
            Ear ear = listen(second);
            OwnerToken held = holder.owner();
            holder.granted("behind", held);
            OwnerToken leaving = first.owner();
            OwnerToken staying = second.owner();
            queue(first, waiting("behind", leaving));
            queue(second, waiting("behind", staying));
            first.release("behind", leaving);
            ear.awaitWake();
            queue(second, waiting("behind", staying));
            ear.woken.clear();
            holder.release("behind", held);
            ear.awaitWake();
            assertThat(second.acquire(waiting("behind", staying))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    @Test
    void theEndOfALeaseWakesTheWaiter() throws InterruptedException {
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient waiter = open(new Lending(10))) {
            Ear ear = listen(waiter);
            OwnerToken owner = waiter.owner();
            holder.granted("ends", holder.owner());
            queue(waiter, waiting("ends", owner));
            shorten("ends");
            // A waiter that retries receives the new end, and is woken at it.
            AcquireReply reply = waiter.acquire(waiting("ends", owner));
            while (!(reply instanceof AcquireReply.Granted)) {
                ear.awaitWake();
                reply = waiter.acquire(waiting("ends", owner));
            }
        }
    }

    private static void shorten(String name) {
        execute("UPDATE leasehold_lock SET expires_at = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
                + " * 1000 + 700000000 WHERE name = '" + name + "'");
    }

    private static void execute(String sql) {
        try (Connection connection = DriverManager.getConnection(server.url());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void nobodyIsToldWhereNobodyWaits() throws SQLException {
        try (LeaseClient client = open(new Lending(10));
                Connection listening = DriverManager.getConnection(server.url())) {
            Dialect.Driver driver =
                    ((Dialect.ByNotifications) PostgresDialect.dialect().waking()).driver();
            driver.listen(listening);
            for (int i = 0; i < 20; i++) {
                OwnerToken owner = client.owner();
                client.granted("alone", owner);
                client.release("alone", owner);
            }
            assertThat(driver.next(listening, 500)).isEmpty();
            execute("SELECT pg_notify('leasehold', 'to be heard')");
            assertThat(driver.next(listening, 30_000)).containsExactly("to be heard");
        }
    }

    /** The session that listens is killed; the waiter is woken, retries, and acquires the lock. */
    @Test
    void aListenerThatDiesWakesItsWaiters() throws InterruptedException {
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient waiter = open(new Lending(10))) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("deaf", held);
            OwnerToken owner = waiter.owner();
            queue(waiter, waiting("deaf", owner));
            ear.woken.clear();
            execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                    + " AND pid <> pg_backend_pid()");
            ear.awaitWake();
            assertThat(waiter.acquire(waiting("deaf", owner))).isInstanceOf(AcquireReply.Busy.class);
            holder.release("deaf", held);
            assertThat(waiter.acquire(waiting("deaf", owner))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** A firewall drops the connections: no notification arrives, and no error is reported. */
    @Test
    void aListenerThatFellSilentIsReplaced() throws InterruptedException {
        try (TcpProxy proxy = TcpProxy.to(server.port());
                LeaseClient holder = open(new Lending(10));
                LeaseClient waiter = LeaseClient.open(runtime -> JdbcStores.over(
                        new SimpleDataSource(() -> DriverManager.getConnection(
                                "jdbc:postgresql://127.0.0.1:" + proxy.port() + "/postgres?user=postgres")),
                        SqlDialect.POSTGRESQL,
                        runtime))) {
            Ear ear = listen(waiter);
            OwnerToken held = holder.owner();
            holder.granted("forgotten", held);
            OwnerToken owner = waiter.owner();
            queue(waiter, waiting("forgotten", owner));
            ear.woken.clear();
            proxy.halfOpenForClients();
            ear.awaitWake();
            queue(waiter, waiting("forgotten", owner));
            ear.woken.clear();
            holder.release("forgotten", held);
            ear.awaitWake();
            assertThat(waiter.acquire(waiting("forgotten", owner))).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /**
     * The row changes hands while the statement that acquires at once waits for it: before, a waiter was noted, and now
     * none is. A waiter that queues by the earlier state would not be notified of a release.
     */
    @Test
    void whoQueuesAfterWaitingForTheRowIsNoted() throws Exception {
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient first = open(new Lending(10));
                LeaseClient second = open(new Lending(10));
                Connection rival = DriverManager.getConnection(server.url());
                Statement statement = rival.createStatement()) {
            Ear ear = listen(second);
            holder.granted("elsewhere", holder.owner());
            queue(second, waiting("elsewhere", second.owner()));
            OwnerToken held = holder.owner();
            // The end of the hold, at which waiters retry, must not come before the release.
            assertThat(holder.acquire(AcquireRequest.exclusive(
                            List.of(LockName.exactly("changes")),
                            held,
                            "test",
                            Duration.ofMinutes(10).toNanos(),
                            LeaseClient.LIMIT.toNanos())))
                    .isInstanceOf(AcquireReply.Granted.class);
            queue(first, waiting("changes", first.owner()));
            OwnerToken owner = second.owner();
            rival.setAutoCommit(false);
            // As if the first waiter acquired: it is no longer noted.
            statement.execute("UPDATE leasehold_lock SET waiter = NULL, waiting_since = 0 WHERE name = 'changes'");
            CompletableFuture<AcquireReply> queued = second.store.acquire(waiting("changes", owner));
            while (!someoneWaitsForARow() && !queued.isDone()) {
                Thread.sleep(1);
            }
            rival.commit();
            assertThat(queued.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Queued.class);
            ear.woken.clear();
            holder.release("changes", held);
            assertThat(ear.woken.poll(60, TimeUnit.SECONDS)).isEqualTo(LockName.exactly("changes"));
        }
    }

    private static boolean someoneWaitsForARow() throws SQLException {
        try (Connection looking = DriverManager.getConnection(server.url());
                Statement statement = looking.createStatement();
                var rows = statement.executeQuery(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")) {
            rows.next();
            return rows.getInt(1) > 0;
        }
    }

    /** A pool of one: a listening connection would leave none for work, so it is returned and waiters poll. */
    @Test
    void aPoolOfOneConnectionIsEnough() throws InterruptedException {
        Lending lending = new Lending(1);
        try (LeaseClient holder = open(new Lending(10));
                LeaseClient waiter = open(lending)) {
            OwnerToken held = holder.owner();
            holder.granted("one", held);
            OwnerToken owner = waiter.owner();
            assertThat(waiter.acquire(waiting("one", owner))).isInstanceOf(AcquireReply.Busy.class);
            CompletableFuture<Void> released = CompletableFuture.runAsync(() -> holder.release("one", held));
            released.join();
            AcquireReply reply = waiter.acquire(waiting("one", owner));
            assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        }
    }
}
