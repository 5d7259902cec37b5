package io.leasehold.checks.docs;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.jdbc.VersionCheck;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.RedisClusterClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The objects that the code blocks of the documents assume: a client, a lock, a table of orders, and some work. */
public abstract class Scene implements AutoCloseable {

    private static final String DATABASE = "jdbc:h2:mem:docs;DB_CLOSE_DELAY=-1";

    public final LockClient locks = Leasehold.connect("memory:");
    public final DistributedLock lock = locks.named("scene");
    public final Lock oldLock = new ReentrantLock();
    public final Orders orders = new Orders();
    public final Order order = new Order();
    public final VersionCheck versions = VersionCheck.of("orders", "id", "version");
    public final DataSource dataSource = dataSource();
    public final Connection connection;
    public final Lease lease;
    public final long id = 1001;
    public final byte[] changed = "changed".getBytes(StandardCharsets.UTF_8);
    public final CountDownLatch lostOfOld = new CountDownLatch(1);
    public final LockClient oldLocks = Leasehold.builder()
            .store("memory:")
            .listener(new LockListener() {
                @Override
                public void lost(Lost event) {
                    lostOfOld.countDown();
                }
            })
            .connect();
    public final LockClient newLocks = Leasehold.connect("memory:");
    public final MeterRegistry registry = new SimpleMeterRegistry();
    public final @Nullable RedisClient client = null;
    public final @Nullable RedisClusterClient clusterClient = null;
    public final @Nullable RedisCommands<String, String> redis = null;
    public final RedisURI uri = RedisURI.create("redis://localhost:6379");
    public final CountDownLatch worked = new CountDownLatch(1);

    public Scene() throws Exception {
        connection = DriverManager.getConnection(DATABASE);
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS orders");
            statement.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, state VARCHAR(10), version BIGINT NOT NULL,"
                    + " fencing_token BIGINT, fencing_writer BIGINT, fencing_writer_at BIGINT)");
            statement.execute("INSERT INTO orders (id, state, version) VALUES (1001, 'NEW', 7)");
        }
        connection.setAutoCommit(false);
        lease = locks.named("scene of its own").acquire();
    }

    private static DataSource dataSource() {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL(DATABASE);
        return source;
    }

    /** Runs the block. */
    public abstract void run() throws Exception;

    public final void work(long fencingToken) {
        if (fencingToken <= 0) {
            throw new IllegalArgumentException("no token: " + fencingToken);
        }
        worked.countDown();
    }

    public final void work() {
        worked.countDown();
    }

    public final String status(Connection in, long order) {
        return order == id && in == connection ? "NEW" : "PAID";
    }

    public final void pay(Connection in, long order) {
        status(in, order);
    }

    public final void record(Connection in, long order, String event) {
        if (event.isEmpty()) {
            throw new IllegalArgumentException("no event of " + status(in, order));
        }
    }

    public final Mono<String> pay(long fencingToken) {
        work(fencingToken);
        return Mono.just("paid");
    }

    public final void stop() {}

    /** Orders that store the values given to them. */
    public static final class Orders {
        public void write(Order changed, long fencingToken) {
            if (fencingToken <= 0) {
                throw new IllegalArgumentException("no token: " + fencingToken);
            }
        }
    }

    /** One order. */
    public static final class Order {
        public Order paid() {
            return this;
        }
    }

    @Override
    public void close() throws SQLException {
        connection.rollback();
        connection.close();
        locks.close();
        oldLocks.close();
        newLocks.close();
    }
}
