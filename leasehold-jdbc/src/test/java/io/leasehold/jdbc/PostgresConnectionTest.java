package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.Assertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Connections to a real PostgreSQL: silent ones, exhausted pools, and the state of borrowed ones afterwards. */
@Tag("full")
@Timeout(180)
class PostgresConnectionTest implements SilenceTests {

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
    public int port() {
        return server.port();
    }

    @Override
    public String urlAt(int port) {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.POSTGRESQL;
    }

    private static HikariDataSource pool(String url) {
        HikariConfig defaults = new HikariConfig();
        defaults.setJdbcUrl(url);
        return new HikariDataSource(defaults);
    }

    /**
     * A common first mistake in an application: callers that have a connection wait for a lock, which waits for a
     * connection.
     */
    @Test
    void aPoolWhoseConnectionsAllWaitForALockCostsNothing() throws Exception {
        try (HikariDataSource pool = pool(server.url());
                LockClient locks = Leasehold.builder()
                        .store(runtime -> JdbcStores.over(pool, SqlDialect.POSTGRESQL, runtime))
                        .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(12)))
                        .connect();
                Lease unrelated = locks.named("unrelated").acquire()) {
            int threads = pool.getMaximumPoolSize();
            CountDownLatch allHaveOne = new CountDownLatch(threads - 1);
            var workers = Executors.newFixedThreadPool(threads);
            List<CompletableFuture<Boolean>> runs = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                runs.add(CompletableFuture.supplyAsync(() -> transaction(pool, locks, allHaveOne), workers));
            }
            for (CompletableFuture<Boolean> run : runs) {
                assertThat(run.get(120, TimeUnit.SECONDS))
                        .as("its lock was held")
                        .isTrue();
            }
            workers.shutdown();
            unrelated.renew();
            assertThat(unrelated.isValid()).isTrue();
        }
    }

    private static boolean transaction(HikariDataSource pool, LockClient locks, CountDownLatch allHaveOne) {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            allHaveOne.countDown();
            allHaveOne.await();
            try (Statement statement = connection.createStatement();
                    Lease lease = locks.named("wanted by all").tryAcquire(Duration.ofSeconds(20))) {
                if (lease == null) {
                    return false;
                }
                statement.execute("SELECT 1");
                connection.commit();
                return true;
            }
        } catch (StoreUnavailableException e) {
            return false;
        } catch (SQLException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A lease is renewed and released while the pool is exhausted. */
    @Test
    void anEmptyPoolHoldsUpNeitherRenewalNorRelease() throws SQLException {
        try (HikariDataSource pool = pool(server.url());
                LeaseClient client =
                        LeaseClient.open(runtime -> JdbcStores.over(pool, SqlDialect.POSTGRESQL, runtime))) {
            OwnerToken owner = client.owner();
            client.granted("emptied", owner);
            List<Connection> all = new ArrayList<>();
            try {
                while (all.size() < pool.getMaximumPoolSize() - 1) {
                    all.add(pool.getConnection());
                }
                awaitNothingIdle(pool, all);
                assertThat(client.renew("emptied", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
                assertThat(client.release("emptied", owner)).isInstanceOf(io.leasehold.spi.ReleaseReply.Released.class);
            } finally {
                for (Connection connection : all) {
                    connection.close();
                }
            }
        }
    }

    /** Takes also the last connection, if it is available. */
    private static void awaitNothingIdle(HikariDataSource pool, List<Connection> all) throws SQLException {
        if (pool.getHikariPoolMXBean().getActiveConnections() < pool.getMaximumPoolSize()) {
            all.add(pool.getConnection());
        }
        assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(pool.getMaximumPoolSize());
    }

    /** A silent connection of a pool is closed, not returned: the next borrower would find it silent again. */
    @Test
    void aSilentConnectionDoesNotGoBackToItsPool() throws SQLException {
        try (TcpProxy proxy = TcpProxy.to(port());
                HikariDataSource pool = pool(urlAt(proxy.port()));
                LeaseClient client =
                        LeaseClient.open(runtime -> JdbcStores.over(pool, SqlDialect.POSTGRESQL, runtime))) {
            OwnerToken owner = client.owner();
            client.granted("pooled", owner);
            proxy.halfOpenForClients();
            assertThat(client.renew("pooled", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            for (int i = 0; i < 3; i++) {
                try (Connection connection = pool.getConnection();
                        Statement statement = connection.createStatement()) {
                    statement.execute("SELECT 1");
                }
            }
        }
    }

    /** One connection, lent to each borrower as the last one left it. */
    private static final class Careless {
        private final Connection real;

        Careless(Connection real) {
            this.real = real;
        }

        Connection lend() {
            return (Connection) Proxy.newProxyInstance(
                    Careless.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        if (method.getName().equals("close")) {
                            return null;
                        }
                        try {
                            return method.invoke(real, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getTargetException();
                        }
                    });
        }
    }

    @Test
    void aBorrowedConnectionGoesBackAsItCame() throws SQLException {
        try (Connection real = DriverManager.getConnection(server.url())) {
            real.setAutoCommit(false);
            real.setNetworkTimeout(Runnable::run, 77_000);
            Careless pool = new Careless(real);
            try (LeaseClient client = LeaseClient.open(
                    runtime -> JdbcStores.over(new SimpleDataSource(pool::lend), SqlDialect.POSTGRESQL, runtime))) {
                OwnerToken owner = client.owner();
                client.granted("lent", owner);
                client.release("lent", owner);
            }
            assertThat(real.getAutoCommit()).isFalse();
            assertThat(real.getNetworkTimeout()).isEqualTo(77_000);
        }
    }

    /**
     * Frameworks bind a connection to the thread of a transaction: the store must neither commit nor roll back its
     * work.
     */
    @Test
    void openingAStoreInsideATransactionLeavesItAlone() throws SQLException {
        try (Connection bound = DriverManager.getConnection(server.url());
                Statement statement = bound.createStatement()) {
            statement.execute("CREATE TABLE work (id INT)");
            bound.setAutoCommit(false);
            statement.execute("INSERT INTO work VALUES (1)");
            Thread here = Thread.currentThread();
            Careless pool = new Careless(bound);
            SimpleDataSource source = new SimpleDataSource(
                    () -> Thread.currentThread() == here ? pool.lend() : DriverManager.getConnection(server.url()));
            try (LeaseClient client =
                    LeaseClient.open(runtime -> JdbcStores.over(source, SqlDialect.POSTGRESQL, runtime))) {
                client.granted("bound", client.owner());
            }
            assertThat(count(statement)).as("seen by itself").isEqualTo(1);
            bound.rollback();
            assertThat(count(statement)).as("after it was undone").isZero();
        }
    }

    /**
     * The reply to the one statement is lost, and there is no second connection for a repetition: the row may be held.
     */
    @Test
    void anAcquireWhoseAnswerIsLostIsNotSaidToHaveHadNoEffect() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port());
                LeaseClient client = LeaseClient.open(
                        runtime -> new JdbcStoreProvider().open(StoreUri.parse(urlAt(proxy.port())), runtime));
                Connection witness = DriverManager.getConnection(server.url());
                Statement statement = witness.createStatement()) {
            client.granted("lost before", client.owner());
            // Housekeeping has its turn among so many tasks, and does not meet the stall.
            for (int i = 0; i < 20; i++) {
                client.release("lost before", client.owner());
            }
            proxy.toClient().stall();
            OwnerToken owner = client.owner();
            CompletableFuture<AcquireReply> acquire = client.store.acquire(LeaseClient.request("lost", owner));
            while (count(statement, "leasehold_lock WHERE name = 'lost' AND owner IS NOT NULL") == 0) {
                assertThat(acquire).isNotDone();
                LockSupport.parkNanos(5_000_000);
            }
            proxy.refuseConnections().resetAll();
            assertThat(acquire.get(60, TimeUnit.SECONDS))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN));
            proxy.heal();
            assertThat(client.release("lost", owner)).isInstanceOf(ReleaseReply.Released.class);
        }
    }

    private static int count(Statement statement) throws SQLException {
        return count(statement, "work");
    }

    private static int count(Statement statement, String rows) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT count(*) FROM " + rows)) {
            row.next();
            return row.getInt(1);
        }
    }

    @Test
    void aServerThatIsNotThereIsNotTakenForAMissingDriver() {
        Assertions.assertThatThrownBy(() ->
                        LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(urlAt(1)), runtime)))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("cannot be opened")
                .hasMessageNotContaining("driver");
    }
}
