package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real hot standby of PostgreSQL, which streams from its primary: reads work, and writes fail with one clear error.
 */
@Timeout(180)
@Tag("full")
class PostgresStandbyTest {

    @TempDir
    private Path directory;

    private static LeaseClient open(String url) {
        return LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(url), runtime));
    }

    @Test
    void aStandbyTellsWhoHoldsAndGrantsNothingUntilItIsPromoted() throws IOException, SQLException {
        try (PostgresServer primary = PostgresServer.start(directory.resolve("primary"))) {
            open(primary.url()).close();
            try (PostgresServer standby = primary.standby(directory.resolve("standby"))) {
                long last;
                try (LeaseClient writer = open(primary.url());
                        LeaseClient client = open(standby.url())) {
                    last = writer.granted("streamed", writer.owner())
                            .grant()
                            .tokens()
                            .last();
                    awaitHeld(client, "streamed");
                    assertThat(client.acquire("streamed too", client.owner()))
                            .isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                                assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                                assertThat(failed.error())
                                        .isInstanceOf(StoreUnavailableException.class)
                                        .hasMessageContainingAll("can only be read", "name the primary")
                                        .hasMessageNotContaining("\n");
                            });
                    refusesWhereTablesAreMissing(primary, standby);

                    promote(standby);
                    assertThat(client.acquire("streamed", client.owner()))
                            .as("what was streamed is held")
                            .isInstanceOf(AcquireReply.Busy.class);
                    assertThat(client.granted("streamed too", client.owner())
                                    .grant()
                                    .tokens()
                                    .first())
                            .isGreaterThan(last);
                }
            }
        }
    }

    private static void awaitHeld(LeaseClient client, String name) {
        long startAtNanos = System.nanoTime();
        while (client.store.admin().describe(LockName.exactly(name)).join().isEmpty()) {
            assertThat(Duration.ofNanos(System.nanoTime() - startAtNanos)).isLessThan(Duration.ofSeconds(90));
            LockSupport.parkNanos(20_000_000);
        }
    }

    private static void refusesWhereTablesAreMissing(PostgresServer primary, PostgresServer standby)
            throws SQLException {
        execute(primary.url(), "CREATE DATABASE bare");
        String bare = standby.url().replace("/postgres?", "/bare?");
        long startAtNanos = System.nanoTime();
        while (!exists(standby.url(), "bare")) {
            assertThat(Duration.ofNanos(System.nanoTime() - startAtNanos)).isLessThan(Duration.ofSeconds(90));
            LockSupport.parkNanos(20_000_000);
        }
        assertThatThrownBy(() -> open(bare).close())
                .isInstanceOf(StoreAccessException.class)
                .hasMessageContainingAll("can only be read", "name the primary")
                .hasMessageNotContaining("\n");
    }

    private static boolean exists(String url, String database) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT 1 FROM pg_database WHERE datname = '" + database + "'")) {
            return rows.next();
        }
    }

    private static void promote(PostgresServer standby) throws SQLException {
        execute(standby.url(), "SELECT pg_promote(true, 120)");
    }

    private static void execute(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
