package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.store.KeptConnection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How long each database may stay silent, and which parts of a driver's message are repeated. */
@Tag("quick")
class ConnectingTest {

    private static final Dialect POSTGRESQL = SqlDialect.POSTGRESQL.statements();
    private static final Dialect MARIADB = SqlDialect.MARIADB.statements();
    private static final Dialect MYSQL = SqlDialect.MYSQL.statements();
    private static final Dialect H2 = SqlDialect.H2.statements();
    private static final String POSTGRES = "jdbc:postgresql://db/x";

    private static Properties properties(Map<String, String> of) {
        Properties properties = new Properties();
        properties.putAll(of);
        return properties;
    }

    @Test
    void anAnswerIsWaitedForLongerThanAStatementMayWaitForARowAndShorterThanARequestLasts() {
        assertThat(JdbcStores.patience(POSTGRESQL))
                .isEqualTo(new KeptConnection.Patience(500_000_000L, 2_500_000_000L));
        KeptConnection.Patience bounded = new KeptConnection.Patience(2_500_000_000L, 2_500_000_000L);
        for (Dialect other : List.of(MARIADB, MYSQL, H2)) {
            assertThat(JdbcStores.patience(other)).isEqualTo(bounded);
        }
    }

    @Test
    void onlyMariaDbIsToldToEndTheTransactionsOfClientsThatVanished() {
        assertThat(MARIADB.connecting().begin()).isEqualTo("SET SESSION idle_transaction_timeout = 5");
        for (Dialect other : List.of(POSTGRESQL, MYSQL, H2, SqliteDialect.dialect(true))) {
            assertThat(other.connecting().begin()).isNull();
        }
    }

    @Test
    void aDriverIsToldToGiveUpWhereItsUrlSaysNothingOfIt() {
        assertThat(JdbcStores.defaults(POSTGRESQL, POSTGRES))
                .isEqualTo(properties(Map.of("connectTimeout", "5", "socketTimeout", "10", "tcpKeepAlive", "true")));
        Properties millis =
                properties(Map.of("connectTimeout", "5000", "socketTimeout", "10000", "tcpKeepAlive", "true"));
        assertThat(JdbcStores.defaults(MARIADB, "jdbc:mariadb://db/x")).isEqualTo(millis);
        assertThat(JdbcStores.defaults(MYSQL, "jdbc:mysql://db/x")).isEqualTo(millis);
        assertThat(JdbcStores.defaults(H2, "jdbc:h2:tcp://db/x"))
                .isEqualTo(properties(Map.of("NETWORK_TIMEOUT", "2500")));
        assertThat(JdbcStores.defaults(SqliteDialect.dialect(true), "jdbc:other://db/x"))
                .isEmpty();
        assertThat(JdbcStores.defaults(POSTGRESQL, POSTGRES + "?SocketTimeout=3&tcpKeepAlive=false"))
                .isEqualTo(properties(Map.of("connectTimeout", "5")));
        assertThat(JdbcStores.defaults(H2, "jdbc:h2:tcp://db/x;network_timeout=9"))
                .isEmpty();
    }

    @Test
    void anErrorIsRepeatedUnlessAnythingInItQuotesAUrl() {
        SQLException harmless = new SQLException("no route", "08001", 7, new IllegalStateException("to host"));
        assertThat((Throwable) DriverWords.withoutUrl(harmless)).isSameAs(harmless);
        String secret = "JDBC:x://u:secret@db";
        SQLException inCause = new SQLException("no", "08001", 7, new IllegalStateException(secret));
        SQLException inNext = new SQLException("no", "08001", 7);
        inNext.setNextException(new SQLException(secret));
        SQLException inSuppressed = new SQLException("no", "08001", 7);
        inSuppressed.addSuppressed(new IllegalStateException("outer", new IllegalStateException(secret)));
        for (SQLException told :
                new SQLException[] {new SQLException(secret, "08001", 7), inCause, inNext, inSuppressed}) {
            SQLException hidden = DriverWords.withoutUrl(told);
            assertThat((Throwable) hidden)
                    .hasMessageNotContaining("secret")
                    .hasNoCause()
                    .hasNoSuppressedExceptions();
            assertThat((Throwable) hidden.getNextException()).isNull();
            assertThat(hidden.getSQLState()).isEqualTo("08001");
            assertThat(hidden.getErrorCode()).isEqualTo(7);
        }
        IllegalArgumentException ofAPool = new IllegalArgumentException("no pool", inCause);
        assertThat(DriverWords.withoutUrl(ofAPool))
                .hasMessageStartingWith("java.lang.IllegalArgumentException: ")
                .hasMessageNotContaining("secret")
                .hasNoCause();
        IllegalArgumentException plain = new IllegalArgumentException("no pool");
        plain.addSuppressed(new IllegalStateException("in a circle", plain));
        assertThat(DriverWords.withoutUrl(plain)).isSameAs(plain);
    }
}
