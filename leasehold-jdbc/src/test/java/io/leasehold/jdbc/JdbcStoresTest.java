package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Guarantee;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * From a data source or a URL to a working store, and the refusals on the way: in virtual time, over a real database.
 */
@Tag("quick")
@Timeout(60)
class JdbcStoresTest {

    private static final Dialect H2 = H2Dialect.dialect();

    private final String plain = "jdbc:h2:mem:" + UUID.randomUUID();
    private final String url = plain + ";DB_CLOSE_DELAY=-1";
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private Connection kept;

    @BeforeEach
    void keep() throws SQLException {
        kept = DriverManager.getConnection(url, "ann", "right");
    }

    @AfterEach
    void drop() throws SQLException {
        kept.createStatement().execute("SHUTDOWN");
    }

    private SimpleDataSource source() {
        return new SimpleDataSource(() -> DriverManager.getConnection(url, "ann", "right"));
    }

    private void assertWorks(LockStore opened, String description) throws InterruptedException {
        try (opened) {
            assertThat(opened.description()).isEqualTo(description);
            assertThat(opened.guarantees().scope()).isEqualTo(Guarantee.Scope.PROCESS);
            assertThat(opened.guarantees().exclusion()).isEqualTo(Guarantee.Exclusion.WITHIN_DRIFT);
            CompletableFuture<AcquireReply> reply =
                    opened.acquire(LeaseClient.request("x-" + UUID.randomUUID(), OwnerToken.draw(runtime)));
            runtime.await(reply);
            assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    @Test
    void aDataSourceLeadsToAStoreInEachOfItsForms() throws Exception {
        assertWorks(JdbcStores.over(source(), SqlDialect.H2, runtime), plain);
        assertWorks(JdbcStores.over(source(), H2, runtime), plain);
        assertWorks(JdbcStores.over(source(), SqlDialect.H2).apply(runtime), plain);
        assertWorks(JdbcStores.over(source(), H2).apply(runtime), plain);
    }

    @Test
    void aUrlLeadsToAStoreWithTheLogInOfItsProvider() throws Exception {
        CredentialsProvider right = () -> Credentials.of("ann", "right");
        assertWorks(JdbcStores.connect(url, "the store", H2, right, runtime), "the store");
        for (Credentials wrong : new Credentials[] {Credentials.of("ann", "wrong"), Credentials.of("bob", "right")}) {
            assertThatThrownBy(() -> JdbcStores.connect(url, "the store", H2, () -> wrong, runtime))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("the store refuses this user");
        }
        assertThatThrownBy(() -> JdbcStores.connect(url, "the store", H2, null, runtime))
                .isInstanceOf(StoreAccessException.class);
        String named = url + ";USER=ann;PASSWORD=right";
        assertWorks(JdbcStores.connect(named, "the store", H2, null, runtime), "the store");
        assertWorks(JdbcStores.connect(named, "the store", H2, null, runtime, Duration.ofHours(1)), "the store");
    }

    private void changePassword(String password) throws SQLException {
        try (Statement statement = kept.createStatement()) {
            statement.execute("ALTER USER ANN SET PASSWORD '" + password + "'");
            statement.execute("SELECT ABORT_SESSION(SESSION_ID) FROM INFORMATION_SCHEMA.SESSIONS"
                    + " WHERE SESSION_ID <> SESSION_ID()");
        }
    }

    /** A provider may return other credentials next time; a URL always has the same. */
    @Test
    void aLogInThatIsRefusedLaterMayPassWithAProviderAlone() throws Exception {
        for (boolean provided : new boolean[] {true, false}) {
            CredentialsProvider provider = () -> Credentials.of("ann", "right");
            LockStore opened = JdbcStores.connect(
                    provided ? url : url + ";USER=ann;PASSWORD=right",
                    "the store",
                    H2,
                    provided ? provider : null,
                    runtime);
            changePassword("another");
            CompletableFuture<AcquireReply> reply = opened.acquire(LeaseClient.request("x", OwnerToken.draw(runtime)));
            runtime.await(reply);
            assertThat(reply.join()).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
                assertThat(failed.kind()).isEqualTo(provided ? FailureKind.NO_EFFECT : FailureKind.PERMANENT);
            });
            opened.close();
            changePassword("right");
        }
    }

    /** A pool may lend a connection whose server has gone, and opening the store would wait forever. */
    @Test
    void aConnectionIsBoundBeforeAnythingIsAskedOverIt() throws Exception {
        List<String> calls = new ArrayList<>();
        SimpleDataSource noting = new SimpleDataSource(() -> {
            Connection real = DriverManager.getConnection(url, "ann", "right");
            return (Connection) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                        calls.add(
                                method.getName().equals("setNetworkTimeout")
                                        ? "at most " + arguments[1] + " ms"
                                        : method.getName());
                        return method.invoke(real, arguments);
                    });
        });
        assertWorks(JdbcStores.over(noting, SqlDialect.H2, runtime), plain);
        assertThat(calls).containsSubsequence("at most 10000 ms", "getMetaData");
        assertThat(calls.subList(0, calls.indexOf("at most 10000 ms"))).doesNotContain("getMetaData");
    }

    @Test
    void aDatabaseOfAnotherKindIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JdbcStores.over(source(), SqlDialect.POSTGRESQL, runtime))
                .withMessageContainingAll("is a database of H2", "that of PostgreSQL");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JdbcStores.over(source(), SqliteDialect.dialect(true), runtime))
                .withMessage("SQLite has no clock of its own");
    }

    @Test
    void aUrlThatNoDriverTakesNamesTheOneThatIsMissing() {
        assertThatThrownBy(() -> JdbcStores.connect("jdbc:nothing:x?password=pssst", "the store", H2, null, runtime))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("the store cannot be opened", "com.h2database:h2")
                .hasMessageNotContaining("pssst");
    }

    @Test
    void nothingMayBeMissing() {
        assertThatNullPointerException().isThrownBy(() -> JdbcStores.over(null, SqlDialect.H2));
        assertThatNullPointerException().isThrownBy(() -> JdbcStores.over(source(), (SqlDialect) null));
        assertThatNullPointerException().isThrownBy(() -> JdbcStores.over(source(), SqlDialect.H2, null));
    }
}
