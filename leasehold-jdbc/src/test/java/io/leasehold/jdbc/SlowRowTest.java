package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A transaction creates a row again after a long pause, in which another row of its name was created and deleted. */
@Tag("quick")
@Timeout(60)
final class SlowRowTest {

    private static final String URL = "jdbc:h2:mem:slow-row;DB_CLOSE_DELAY=-1";

    @Test
    void itsTokenIsAboveThoseOfTheRowThatIsGone() throws Exception {
        SqlHook hook = new SqlHook();
        Duration retention = Duration.ofMillis(200);
        try (LeaseClient slow = LeaseClient.open(runtime -> JdbcStores.over(
                        hook.over(SqlHook.driver(URL)), SqlDialect.H2.statements(), runtime, retention));
                LeaseClient other =
                        LeaseClient.open(runtime -> JdbcStores.over(SqlHook.driver(URL), SqlDialect.H2, runtime))) {
            AtomicLong gone = new AtomicLong();
            hook.before("INSERT INTO leasehold_lock", () -> {
                gone.set(other.granted("slow", other.owner()).ballot());
                LockSupport.parkNanos(retention.toNanos());
                // Housekeeping does this if the row was not used for the retention.
                try (Connection connection = DriverManager.getConnection(URL);
                        Statement statement = connection.createStatement()) {
                    connection.setAutoCommit(false);
                    statement.execute("UPDATE leasehold_store SET fence_floor = " + gone.get());
                    statement.execute("DELETE FROM leasehold_lock WHERE name = 'slow'");
                    connection.commit();
                }
            });
            long token = slow.granted("slow", slow.owner()).ballot();
            assertThat(hook.isDone()).as("it stood still").isTrue();
            assertThat(token).isGreaterThan(gone.get());
        }
    }
}
