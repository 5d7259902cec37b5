package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows and gaps that stay locked, and pauses between statements, at a real MariaDB; also with MySQL's dialect. */
@Tag("full")
class MariaDbLockedRowsTest implements LockedRowsTests, PauseTests {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory);
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public Connection administrator() throws SQLException {
        return server.connect();
    }

    @Override
    public String storeUri() {
        return server.url();
    }

    @Override
    public SqlDialect dialect() {
        return SqlDialect.MARIADB;
    }

    @Override
    public List<SqlDialect> dialects() {
        return List.of(SqlDialect.MARIADB, SqlDialect.MYSQL);
    }

    @Override
    public List<String> gaps() {
        return List.of("SELECT name FROM leasehold_lock WHERE name BETWEEN 'gap a' AND 'gap z'");
    }

    /** The limit ends the statement that waits: the connection remains usable, and the request continues. */
    @Test
    void aLimitOnStatementsIsNotTakenForAnUnreachableServer() throws Exception {
        try (Connection keeper = server.connect();
                Connection administrator = server.connect();
                Statement statement = administrator.createStatement()) {
            // With this dialect, an insert waits a second for a locked row.
            try (LeaseClient client = LeaseClient.open(runtime -> JdbcStores.connect(
                    limited(), "x", SqlDialect.MYSQL.statements(), null, runtime, Duration.ofDays(1)))) {
                client.granted("limited a", client.owner());
                client.granted("limited c", client.owner());
                keeper.setAutoCommit(false);
                try (Statement locking = keeper.createStatement()) {
                    locking.executeQuery("SELECT fence FROM leasehold_lock WHERE name = 'limited b' FOR UPDATE")
                            .close();
                }
                CompletableFuture<AcquireReply> asked =
                        client.store.acquire(LeaseClient.request("limited b", client.owner()));
                LockSupport.parkNanos(1_500_000_000);
                assertThat(asked).isNotDone();
                keeper.rollback();
                assertThat(asked.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
            }
        }
    }

    /** A URL whose connections limit each statement to a fifth of a second. */
    private static String limited() {
        return server.url() + "&sessionVariables=max_statement_time=0.2";
    }

    /** Limits that come before a statement can be prepared with it. */
    @Test
    void statementsMayBePreparedAtTheServer() {
        String url = server.url() + "&useServerPrepStmts=true";
        try (LeaseClient client = LeaseClient.open(
                runtime -> JdbcStores.connect(url, "x", dialect().statements(), null, runtime, Duration.ZERO))) {
            for (int i = 0; i < 3; i++) {
                OwnerToken owner = client.owner();
                client.granted("prepared", owner);
                assertThat(client.renew("prepared", owner, LeaseClient.TTL.plusMinutes(1)))
                        .isInstanceOf(RenewReply.Renewed.class);
                assertThat(client.release("prepared", owner)).isInstanceOf(ReleaseReply.Released.class);
            }
        }
    }

    /** Transactions that never wait for a row never cause a deadlock, in whatever order they and others lock rows. */
    @Test
    void noDeadlockArises() throws Exception {
        try (LeaseClient client = LeaseClient.open(runtime -> JdbcStores.connect(
                        server.url(), "x", dialect().statements(), null, runtime, Duration.ofDays(1)));
                Connection rival = administrator();
                Statement statement = rival.createStatement()) {
            for (String name : List.of("dead a", "dead b")) {
                OwnerToken owner = client.owner();
                client.granted(name, owner);
                client.release(name, owner);
            }
            rival.setAutoCommit(false);
            statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = 'dead b' FOR UPDATE")
                    .close();
            CompletableFuture<AcquireReply> both = client.store.acquire(AcquireRequest.exclusive(
                    List.of(LockName.exactly("dead a"), LockName.exactly("dead b")),
                    client.owner(),
                    "test",
                    LeaseClient.TTL.toNanos(),
                    Duration.ofMinutes(1).toNanos()));
            LockSupport.parkNanos(200_000_000);
            statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = 'dead a' FOR UPDATE")
                    .close();
            assertThat(both).as("the rival has both rows").isNotDone();
            rival.rollback();
            assertThat(both.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
        }
    }
}
