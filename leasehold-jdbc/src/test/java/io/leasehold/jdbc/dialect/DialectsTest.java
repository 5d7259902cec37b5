package io.leasehold.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Guarantee.Scope;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The properties of each dialect, without a database. */
@Tag("quick")
class DialectsTest {

    @ParameterizedTest
    @CsvSource({
        "jdbc:h2:tcp://host/x, NETWORK",
        "jdbc:h2:SSL://host/x, NETWORK",
        "jdbc:h2:file:/x, PROCESS",
        "jdbc:h2:file:/x;AUTO_SERVER=TRUE, MACHINE",
        "jdbc:h2:mem:x, PROCESS"
    })
    void howFarALockInH2ReachesIsToldByItsUrl(String url, Scope scope) {
        assertThat(H2Dialect.dialect().scope().apply(url)).isEqualTo(scope);
    }

    @Test
    void howFarALockReachesElsewhereIsTheSameForAllUrls() {
        for (Dialect server : List.of(PostgresDialect.dialect(), MariaDbDialect.mariaDb(), MariaDbDialect.mySql())) {
            assertThat(server.scope().apply("jdbc:x")).isEqualTo(Scope.NETWORK);
        }
        assertThat(SqliteDialect.dialect(true).scope().apply("jdbc:x")).isEqualTo(Scope.MACHINE);
    }

    @Test
    void aDialectFitsItsOwnDatabaseAndThatOfMySqlMariaDb() {
        assertThat(H2Dialect.dialect().fits("h2")).isTrue();
        assertThat(H2Dialect.dialect().fits("MariaDB")).isFalse();
        assertThat(MariaDbDialect.mySql().fits("MySQL")).isTrue();
        assertThat(MariaDbDialect.mySql().fits("mariadb")).isTrue();
        assertThat(MariaDbDialect.mySql().fits("H2")).isFalse();
        assertThat(MariaDbDialect.mariaDb().fits("MySQL")).isFalse();
    }

    @Test
    void aTransactionWaitsForARowWhereLessThanASecondCanBeSaid() {
        assertThat(SqliteDialect.dialect(true).waitsBriefly()).isTrue();
        assertThat(PostgresDialect.dialect().waitsBriefly()).isTrue();
        assertThat(H2Dialect.dialect().waitsBriefly()).isFalse();
    }

    @Test
    void onlyAFileWhoseCommitsDoNotWaitForTheDiskNeedsAHorizon() {
        assertThat(SqliteDialect.dialect(true).horizon()).isNull();
        assertThat(SqliteDialect.dialect(false).horizon()).isNotNull();
    }

    @Test
    void livesAreKeptInFilesAlone() {
        assertThat(SqliteDialect.dialect(true).leases().update()).contains("fence = ?, life = ? WHERE");
        assertThat(H2Dialect.dialect().leases().update()).contains("fence = ? WHERE");
    }

    @Test
    void theShippedFilesAreTheirStatementsAndNothingElse() {
        for (String file : List.of("h2.sql", "mariadb.sql", "postgresql.sql", "sqlite.sql")) {
            assertThat(SchemaFile.statements(file)).hasSizeGreaterThan(2).allMatch(one -> one.startsWith("CREATE"));
        }
        assertThatThrownBy(() -> SchemaFile.text("oracle.sql"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("oracle.sql");
    }

    private static <T> T proxy(Class<T> type, java.lang.reflect.InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(DialectsTest.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** A session of MySQL whose wait for a row is this long. */
    private static Connection session(int seconds, List<String> said) {
        ResultSet row = proxy(ResultSet.class, (self, method, arguments) -> switch (method.getName()) {
            case "next" -> true;
            case "getInt" -> seconds;
            default -> null;
        });
        Statement statement = proxy(Statement.class, (self, method, arguments) -> switch (method.getName()) {
            case "executeQuery" -> row;
            case "execute" -> said.add((String) arguments[0]);
            default -> null;
        });
        return proxy(Connection.class, (self, method, arguments) -> statement);
    }

    @Test
    void aSessionOfMySqlWaitsASecondForARowWhileItIsOurs() throws SQLException {
        UnaryOperator<String> set = seconds -> "SET SESSION innodb_lock_wait_timeout = " + seconds;
        MySqlWaits waits = new MySqlWaits();
        List<String> said = new ArrayList<>();
        assertThat(waits.begin(session(50, said))).isEqualTo(50);
        assertThat(said).containsExactly(set.apply("1"));
        waits.end(session(1, said), 50);
        assertThat(said).containsExactly(set.apply("1"), set.apply("50"));
        said.clear();
        assertThat(waits.begin(session(1, said))).isEqualTo(1);
        waits.end(session(1, said), 1);
        assertThat(said).as("it was so before").isEmpty();
    }
}
