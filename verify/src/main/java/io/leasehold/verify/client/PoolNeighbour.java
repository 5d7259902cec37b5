package io.leasehold.verify.client;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application that shares its pool with a store: two threads, each of which sometimes keeps a connection for
 * seconds.
 */
final class PoolNeighbour implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(PoolNeighbour.class);
    private static final int THREADS = 2;
    private static final int MAX_MILLIS = 3_000;

    private final HikariDataSource pool;

    private PoolNeighbour(HikariDataSource pool) {
        this.pool = pool;
    }

    static PoolNeighbour of(HikariDataSource pool) {
        PoolNeighbour neighbour = new PoolNeighbour(pool);
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(neighbour::live, "neighbour");
            thread.setDaemon(true);
            thread.start();
        }
        return neighbour;
    }

    private void live() {
        try {
            while (!pool.isClosed()) {
                TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(MAX_MILLIS));
                keepOne();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void keepOne() throws InterruptedException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("SELECT 1");
            connection.commit();
            TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(MAX_MILLIS));
        } catch (SQLException e) {
            LOG.debug("the application gets nothing from its database now", e);
        }
    }

    @Override
    public void close() {
        pool.close();
    }
}
