package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.store.KeptConnection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How long each database may say nothing, and what of a driver's words is repeated. */
@Tag("quick")
class ServerWaitsTest {

    private static final String POSTGRES = "jdbc:postgresql://db/x";

    private static Properties properties(Map<String, String> of) {
        Properties properties = new Properties();
        properties.putAll(of);
        return properties;
    }

    @Test
    void anAnswerIsWaitedForLongerThanAStatementMayWaitForARowAndShorterThanARequestLasts() {
        assertThat(ServerWaits.of(SqlDialect.POSTGRESQL))
                .isEqualTo(new KeptConnection.Patience(500_000_000L, 2_500_000_000L));
        KeptConnection.Patience bounded = new KeptConnection.Patience(2_500_000_000L, 2_500_000_000L);
        assertThat(ServerWaits.of(SqlDialect.MARIADB)).isEqualTo(bounded);
        assertThat(ServerWaits.of(SqlDialect.MYSQL)).isEqualTo(bounded);
        assertThat(ServerWaits.of(SqlDialect.H2)).isEqualTo(bounded);
        assertThat(ServerWaits.of(null)).isEqualTo(bounded);
        assertThat(ServerWaits.OPENING_NANOS).isEqualTo(10_000_000_000L);
    }

    @Test
    void onlyMariaDbIsToldToEndTheTransactionsOfClientsThatVanished() {
        assertThat(ServerWaits.sessionLimit(SqlDialect.MARIADB)).isEqualTo("SET SESSION idle_transaction_timeout = 5");
        for (SqlDialect other : new SqlDialect[] {SqlDialect.POSTGRESQL, SqlDialect.MYSQL, SqlDialect.H2, null}) {
            assertThat(ServerWaits.sessionLimit(other)).isNull();
        }
    }

    @Test
    void aDriverIsToldToGiveUpWhereItsUrlSaysNothingOfIt() {
        assertThat(ServerWaits.defaults(SqlDialect.POSTGRESQL, POSTGRES))
                .isEqualTo(properties(Map.of("connectTimeout", "5", "socketTimeout", "10", "tcpKeepAlive", "true")));
        Properties millis =
                properties(Map.of("connectTimeout", "5000", "socketTimeout", "10000", "tcpKeepAlive", "true"));
        assertThat(ServerWaits.defaults(SqlDialect.MARIADB, "jdbc:mariadb://db/x"))
                .isEqualTo(millis);
        assertThat(ServerWaits.defaults(SqlDialect.MYSQL, "jdbc:mysql://db/x")).isEqualTo(millis);
        assertThat(ServerWaits.defaults(SqlDialect.H2, "jdbc:h2:tcp://db/x"))
                .isEqualTo(properties(Map.of("NETWORK_TIMEOUT", "2500")));
        assertThat(ServerWaits.defaults(null, "jdbc:other://db/x")).isEmpty();
        assertThat(ServerWaits.defaults(SqlDialect.POSTGRESQL, POSTGRES + "?SocketTimeout=3&tcpKeepAlive=false"))
                .isEqualTo(properties(Map.of("connectTimeout", "5")));
        assertThat(ServerWaits.defaults(SqlDialect.H2, "jdbc:h2:tcp://db/x;network_timeout=9"))
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
