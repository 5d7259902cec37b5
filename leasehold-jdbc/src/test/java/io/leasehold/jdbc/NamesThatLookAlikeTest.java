package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.UnsafeStoreException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A database that treats two texts as equal must not treat two locks as one: its tables distinguish them, or it is
 * refused.
 */
@Tag("full")
class NamesThatLookAlikeTest {

    private static void assertKeepsApart(String url) throws InterruptedException {
        try (LockClient client = Leasehold.connect(url);
                Lease lower = client.named("abc").tryAcquire(Duration.ZERO);
                Lease upper = client.named("ABC").tryAcquire(Duration.ZERO)) {
            assertThat(lower).isNotNull();
            assertThat(upper).as("ABC, while abc is held").isNotNull();
            assertThat(client.admin().list("*", 10)).hasSize(2);
        }
    }

    private static void assertRefused(String url) {
        assertThatThrownBy(() -> Leasehold.connect(url))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("leasehold_lock", "takes different names for one");
    }

    private static void execute(String url, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (String each : statements) {
                statement.execute(each);
            }
        }
    }

    private static String h2(String settings) {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1" + settings;
    }

    @Test
    void h2ThatIgnoresCaseKeepsNamesApart() throws InterruptedException {
        assertKeepsApart(h2(";IGNORECASE=TRUE"));
    }

    @Test
    void tablesOfH2WhoseNamesIgnoreCaseAreRefused() throws SQLException {
        String url = h2("");
        Leasehold.connect(url).close();
        execute(url, "ALTER TABLE leasehold_lock ALTER COLUMN name SET DATA TYPE VARCHAR_IGNORECASE(1024)");
        assertRefused(url);
    }

    @Test
    void aCollationOfH2ThatIgnoresCaseIsRefused() throws SQLException {
        String url = h2("");
        execute(url, "SET COLLATION ENGLISH STRENGTH PRIMARY");
        assertRefused(url);
    }

    @Test
    void mariaDbThatIgnoresCaseKeepsNamesApart(@TempDir Path directory) throws Exception {
        try (MariaDbServer server = MariaDbServer.start(directory)) {
            execute(server.url(), "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
            assertKeepsApart(server.url());
            execute(
                    server.url(),
                    "DELETE FROM leasehold_lock",
                    "ALTER TABLE leasehold_lock MODIFY name VARCHAR(700) CHARACTER SET utf8mb4 COLLATE"
                            + " utf8mb4_general_ci NOT NULL");
            assertRefused(server.url());
        }
    }

    @Test
    void aCollationOfPostgreSqlThatIgnoresCaseIsRefused(@TempDir Path directory) throws Exception {
        try (PostgresServer server = PostgresServer.start(directory)) {
            assertKeepsApart(server.url());
            execute(
                    server.url(),
                    "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                    "DELETE FROM leasehold_lock",
                    "ALTER TABLE leasehold_lock ALTER COLUMN name TYPE VARCHAR(1024) COLLATE caseless");
            assertRefused(server.url());
        }
    }
}
