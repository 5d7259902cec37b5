package io.leasehold.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Array;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** The calls of public interfaces of PostgreSQL's driver, without a server. */
@Tag("quick")
class PostgresDriverTest {

    private final PostgresDriver driver = new PostgresDriver();
    private final List<String> asked = new ArrayList<>();
    private boolean isPostgres = true;
    private int threshold = 5;
    private PGNotification @Nullable [] notifications;
    private @Nullable SQLException failure;

    private final Connection connection = proxy(Connection.class, (method, argument) -> switch (method) {
        case "isWrapperFor" -> isPostgres && argument == PGConnection.class;
        case "unwrap" -> unwrapped();
        case "createStatement" -> statement();
        default -> throw new AssertionError(method);
    });

    private interface Answers {
        @Nullable
        Object of(String method, @Nullable Object argument) throws Exception;
    }

    private static <T> T proxy(Class<T> type, Answers answers) {
        return type.cast(Proxy.newProxyInstance(
                PostgresDriverTest.class.getClassLoader(),
                new Class<?>[] {type},
                (self, method, arguments) -> answers.of(method.getName(), arguments == null ? null : arguments[0])));
    }

    private @Nullable Object noted(String call, @Nullable Object answer) {
        asked.add(call);
        return answer;
    }

    private PGConnection unwrapped() {
        return proxy(PGConnection.class, (method, argument) -> {
            if (failure != null) {
                throw failure;
            }
            return switch (method) {
                case "getPrepareThreshold" -> threshold;
                case "setPrepareThreshold" -> noted("threshold " + argument, null);
                case "getNotifications" -> noted("wait " + argument, notifications);
                default -> throw new AssertionError(method);
            };
        });
    }

    private Statement statement() {
        return proxy(Statement.class, (method, argument) -> switch (method) {
            case "execute" -> noted(String.valueOf(argument), true);
            case "close" -> noted("close", null);
            default -> throw new AssertionError(method);
        });
    }

    private static PGNotification notification(@Nullable String payload) {
        return proxy(PGNotification.class, (method, argument) -> {
            assertThat(method).isEqualTo("getParameter");
            return payload;
        });
    }

    /** Behind a pooler the next transaction may have another session. */
    @Test
    void noStatementIsPreparedAtTheServerWhileTheConnectionIsOurs() throws SQLException {
        assertThat(driver.begin(connection)).isEqualTo(5);
        assertThat(asked).containsExactly("threshold 0");
        asked.clear();
        driver.end(connection, 5);
        assertThat(asked).containsExactly("threshold 5");
        asked.clear();
        driver.end(connection, 0);
        assertThat(asked).as("it was so before").isEmpty();
    }

    @Test
    void aDriverOfAnotherKindIsLeftAsItIs() throws SQLException {
        isPostgres = false;
        assertThat(driver.begin(connection)).isZero();
        driver.end(connection, 5);
        assertThat(driver.canListen(connection)).isFalse();
        assertThat(asked).isEmpty();
        isPostgres = true;
        assertThat(driver.canListen(connection)).isTrue();
    }

    @Test
    void listeningBeginsEndsAndIsTestedByAStatement() throws SQLException {
        driver.listen(connection);
        driver.ask(connection);
        driver.unlisten(connection);
        assertThat(asked)
                .containsExactly("LISTEN leasehold", "close", "SELECT 1", "close", "UNLISTEN leasehold", "close");
    }

    @Test
    void whatWasHeardIsTheWordsOfAllNotifications() throws SQLException {
        assertThat(driver.next(connection, 250)).as("nothing came").isEmpty();
        assertThat(asked).containsExactly("wait 250");
        notifications = new PGNotification[] {notification("a"), notification(null), notification("b")};
        assertThat(driver.next(connection, 250)).containsExactly("a", "b");
    }

    @Test
    void whatTheDriverThrowsIsThrownAsItIsWhereItMayThrow() {
        failure = new SQLException("the connection is broken", "08006");
        assertThatThrownBy(() -> driver.next(connection, 250)).isSameAs(failure);
        assertThatThrownBy(() -> driver.begin(connection))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("PostgreSQL's driver has no getPrepareThreshold as this version");
    }

    /**
     * For example if an application server has the driver, and the application has another copy of it next to this
     * library.
     */
    @Test
    void ofTwoCopiesOfTheDriverThatOfTheConnectionIsAsked() throws Exception {
        URL jar = PGConnection.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader server = new URLClassLoader(new URL[] {jar}, ClassLoader.getPlatformClassLoader())) {
            Class<?> theirs = server.loadClass(PGConnection.class.getName());
            assertThat(theirs).isNotEqualTo(PGConnection.class);
            Class<?> notification = server.loadClass(PGNotification.class.getName());
            Connection theirConnection = (Connection) Proxy.newProxyInstance(
                    server,
                    new Class<?>[] {Connection.class, theirs},
                    (self, method, arguments) -> switch (method.getName()) {
                        case "isWrapperFor" -> arguments[0] == theirs;
                        case "unwrap" -> self;
                        case "getPrepareThreshold" -> 5;
                        case "setPrepareThreshold" -> noted("threshold " + arguments[0], null);
                        case "getNotifications" -> {
                            Object[] all = (Object[]) Array.newInstance(notification, 1);
                            all[0] = Proxy.newProxyInstance(
                                    server, new Class<?>[] {notification}, (one, asking, nothing) -> "heard");
                            yield all;
                        }
                        default -> throw new AssertionError(method.getName());
                    });
            assertThat(driver.canListen(theirConnection)).isTrue();
            assertThat(driver.begin(theirConnection)).isEqualTo(5);
            assertThat(asked).containsExactly("threshold 0");
            assertThat(driver.next(theirConnection, 250)).containsExactly("heard");
        }
    }
}
