package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Errors of a driver that are not SQL exceptions, in the middle of a transaction. */
@Tag("quick")
class UnexpectedErrorsTest {

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private final List<Connection> closed = new CopyOnWriteArrayList<>();

    /** A pool without checks: it lends a closed connection again. */
    private DataSource pool() {
        return (DataSource) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {DataSource.class},
                (pool, method, arguments) ->
                        closed.isEmpty() ? lent(DriverManager.getConnection(url)) : closed.remove(0));
    }

    private Connection lent(Connection real) {
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (lent, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        closed.add((Connection) lent);
                        return null;
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private long free(String name) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT COUNT(*) FROM (SELECT name FROM leasehold_lock WHERE name = '"
                        + name + "' AND owner IS NULL FOR UPDATE SKIP LOCKED)")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Test
    void leaveNothingBehindAndTheStoreGoesOn() throws Exception {
        SqlHook hook = new SqlHook();
        try (LeaseClient client =
                LeaseClient.open(runtime -> JdbcStores.over(hook.over(pool()), SqlDialect.H2, runtime))) {
            OwnerToken first = client.owner();
            client.granted("unexpected", first);
            client.release("unexpected", first);
            for (Throwable error :
                    List.of(new IllegalStateException("of a driver"), new StackOverflowError("of a driver"))) {
                hook.before("UPDATE leasehold_lock SET origin", () -> {
                    if (error instanceof Error e) {
                        throw e;
                    }
                    throw (RuntimeException) error;
                });
                assertThat(client.acquire("unexpected", client.owner()))
                        .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                            assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
                            assertThat(failed.error()).hasMessageContaining("of a driver");
                        });
                assertThat(hook.isDone()).isTrue();
                assertThat(free("unexpected"))
                        .as("its row is neither held nor locked")
                        .isEqualTo(1);
                for (Connection connection : closed) {
                    assertThat(connection.getAutoCommit())
                            .as("goes back as it came")
                            .isTrue();
                }
            }
            OwnerToken owner = client.owner();
            assertThat(client.granted("unexpected", owner).ballot()).isPositive();
            client.release("unexpected", owner);
        }
    }
}
