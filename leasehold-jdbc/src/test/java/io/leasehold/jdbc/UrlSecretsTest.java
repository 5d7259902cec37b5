package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Drivers repeat their URL in the metadata of a connection and in errors; Leasehold never does. */
@Tag("quick")
class UrlSecretsTest {

    private final String database = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(database);
    }

    /** A real connection whose driver reports this URL. */
    private static Connection named(String url, Connection real) {
        return proxy(
                Connection.class,
                real,
                (method, result) -> method.equals("getMetaData") ? named(url, (DatabaseMetaData) result) : result);
    }

    private static DatabaseMetaData named(String url, DatabaseMetaData real) {
        return proxy(DatabaseMetaData.class, real, (method, result) -> method.equals("getURL") ? url : result);
    }

    private interface Change {
        Object of(String method, Object result);
    }

    private static <T> T proxy(Class<T> type, T real, Change change) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (p, method, arguments) -> {
                    try {
                        return change.of(method.getName(), method.invoke(real, arguments));
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mysql://joe:pssst@db:3306/app",
                "jdbc:mysql://joe:pssst@db:3306/app?useSSL=false",
                "jdbc:mysql://address=(host=db)(user=joe)(password=pssst)/app",
                "jdbc:mysql://(host=db,user=joe,password=pssst)/app",
                "jdbc:mariadb://db/app?user=joe&password=pssst",
                "jdbc:h2:tcp://db/app;USER=joe;PASSWORD=pssst",
                "jdbc:oracle:thin:joe/pssst@//db:1521/app",
                "jdbc:sqlserver://db;user=joe;password={ps;pssst}",
                "jdbc:db2://db:50000/app:user=joe;password=pssst;"
            })
    void aDataSourceIsDescribedWithoutSecrets(String url) throws InterruptedException {
        SimpleDataSource source = new SimpleDataSource(() -> named(url, connect()));
        try (LockClient client = Leasehold.builder()
                        .store(JdbcStores.over(source, SqlDialect.H2))
                        .connect();
                Lease lease = client.named("x").acquire()) {
            assertThat(lease.isValid()).isTrue();
            assertThat(client.storeDescription())
                    .as("of options nothing is shown")
                    .startsWith("jdbc:")
                    .doesNotContain("pssst", ";", "?", "(");
        }
    }

    @Test
    void aDriverWithoutAUrlIsDescribedAllTheSame() {
        SimpleDataSource source = new SimpleDataSource(() -> named(null, connect()));
        try (LockClient client = Leasehold.builder()
                .store(JdbcStores.over(source, SqlDialect.H2))
                .connect()) {
            assertThat(client.storeDescription()).isEqualTo("H2 data source");
        }
    }

    /** As pools do: the cause of the error contains the URL. */
    private static SQLException quoting() {
        SQLException e = new SQLException("pool is exhausted", "08001", 90020);
        e.initCause(new SQLException("cannot connect to JDBC:mysql://joe:pssst@db/app"));
        return e;
    }

    @Test
    void anErrorThatQuotesTheUrlIsNotRepeated() {
        SimpleDataSource source = new SimpleDataSource(() -> {
            throw quoting();
        });
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(JdbcStores.over(source, SqlDialect.H2))
                        .connect())
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("08001")
                .satisfies(e -> assertThat(Throwables.getStackTrace(e)).doesNotContain("pssst"));
        SimpleDataSource pool = new SimpleDataSource(() -> {
            throw new IllegalStateException("pool failed", quoting());
        });
        assertThatThrownBy(() -> Leasehold.builder()
                        .store(JdbcStores.over(pool, SqlDialect.H2))
                        .connect())
                .satisfies(e -> assertThat(Throwables.getStackTrace(e)).doesNotContain("pssst"));
    }

    @Test
    void noRequestRepeatsItEither() throws Exception {
        AtomicBoolean fails = new AtomicBoolean();
        SimpleDataSource source = new SimpleDataSource(() -> {
            if (fails.get()) {
                throw quoting();
            }
            return connect();
        });
        try (LockClient client = Leasehold.builder()
                .store(JdbcStores.over(source, SqlDialect.H2))
                .connect()) {
            client.admin().inspect("x");
            fails.set(true);
            source.last().close();
            assertThatThrownBy(() -> client.admin().inspect("x"))
                    .isInstanceOf(LockStoreException.class)
                    .satisfies(e -> assertThat(Throwables.getStackTrace(e)).doesNotContain("pssst"));
        }
    }
}
