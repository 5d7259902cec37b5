package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.OwnerToken;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Unused rows are deleted, despite any failures. */
@Tag("quick")
@Timeout(180)
class HousekeepingTest {

    /** The number of rows that are created between two searches for rows to delete. */
    private static final int ROWS_BETWEEN_LOOKS = 64;

    private static final AtomicInteger DATABASES = new AtomicInteger();

    private final String url = "jdbc:h2:mem:housekeeping-" + DATABASES.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
    private final SqlHook hook = new SqlHook();
    private LeaseClient client;
    private int made;

    @BeforeEach
    void open() {
        DataSource source = hook.over(SqlHook.driver(url));
        client = LeaseClient.open(
                runtime -> JdbcStores.over(source, SqlDialect.H2.statements(), runtime, Duration.ofMinutes(1)));
    }

    @AfterEach
    void close() throws SQLException {
        client.close();
        execute("SHUTDOWN");
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private int rows(String prefix) throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT COUNT(*) FROM leasehold_lock WHERE name LIKE '" + prefix + "%'")) {
            row.next();
            return row.getInt(1);
        }
    }

    private void awaitNone(String prefix) throws SQLException {
        long startAtNanos = System.nanoTime();
        while (rows(prefix) > 0) {
            assertThat(System.nanoTime() - startAtNanos)
                    .as("unused rows are deleted")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private void use(String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        client.release(name, owner);
        made++;
    }

    /** Creates enough rows to start exactly one search. */
    private void lookOnce() {
        do {
            use("young-" + made);
        } while (made % ROWS_BETWEEN_LOOKS != 1);
    }

    private void becomeOld() throws SQLException {
        execute("UPDATE leasehold_lock SET fence = fence - 90000000000");
    }

    /** A failed search is followed by others, so one failure of the database leaves no row forever. */
    @Test
    void goesOnAfterItHasFailed() throws SQLException {
        lookFails();
        for (int i = 0; i < 3; i++) {
            use("old-" + i);
        }
        awaitFailure();
        becomeOld();
        for (int failures = 0; failures < 3; failures++) {
            lookFails();
            lookOnce();
            awaitFailure();
            assertThat(rows("old-")).isEqualTo(3);
        }
        lookOnce();
        awaitNone("old-");
    }

    private void lookFails() {
        hook.before("ORDER BY fence", () -> {
            throw new SQLException("a bad moment", "HY000");
        });
    }

    private void awaitFailure() {
        long startAtNanos = System.nanoTime();
        while (!hook.isDone()) {
            assertThat(System.nanoTime() - startAtNanos)
                    .as("it looks for unused rows")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    /**
     * More old rows than one search reads are still held: the same search deletes the rows behind them, and a later one
     * deletes them.
     */
    @Test
    void whatIsHeldHidesNothing() throws SQLException {
        int held = 40;
        OwnerToken[] owners = new OwnerToken[held];
        for (int i = 0; i < held; i++) {
            owners[i] = client.owner();
            client.granted("held-" + i, owners[i]);
            made++;
        }
        for (int i = 0; i < 10; i++) {
            use("old-" + i);
        }
        becomeOld();
        lookOnce();
        awaitNone("old-");
        assertThat(rows("held-")).isEqualTo(held);
        for (int i = 0; i < held; i++) {
            client.release("held-" + i, owners[i]);
        }
        becomeOld();
        lookOnce();
        awaitNone("held-");
    }
}
