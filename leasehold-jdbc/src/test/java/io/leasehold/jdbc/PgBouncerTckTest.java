package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The backend contract behind a real PgBouncer in transaction mode: nothing may depend on a session. */
@Timeout(300)
@Tag("full")
class PgBouncerTckTest implements BackendTck {

    @TempDir
    private static Path directory;

    private static @Nullable PostgresServer server;
    private static @Nullable PgBouncer bouncer;

    @BeforeAll
    static void startServers() throws IOException {
        ServerProcess.find("pgbouncer", "pgbouncer");
        server = PostgresServer.start(directory);
        bouncer = PgBouncer.start(directory.resolve("bouncer"), server.port());
    }

    @AfterAll
    static void stopServers() throws IOException {
        if (bouncer != null) {
            bouncer.close();
        }
        if (server != null) {
            server.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "postgresql behind pgbouncer";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new JdbcStoreProvider().open(StoreUri.parse(bouncer.url()), runtime);
            }

            @Override
            public String uriForOtherProcesses() {
                return bouncer.url();
            }
        };
    }

    /** The premise of the other tests here. */
    @Test
    void transactionsOfOneConnectionAreInDifferentSessions() throws SQLException {
        Set<Integer> sessions = new HashSet<>();
        try (Connection one = DriverManager.getConnection(bouncer.url() + "&prepareThreshold=0");
                Connection two = DriverManager.getConnection(bouncer.url() + "&prepareThreshold=0")) {
            sessions.add(session(one));
            two.setAutoCommit(false);
            int taken = session(two);
            sessions.add(taken);
            sessions.add(session(one));
            two.rollback();
            one.setAutoCommit(false);
            sessions.add(session(one));
            two.setAutoCommit(true);
            sessions.add(session(two));
            one.rollback();
        }
        assertThat(sessions).hasSizeGreaterThan(1);
    }

    private static int session(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
            row.next();
            return row.getInt(1);
        }
    }

    /** Notifications do not arrive here, so the store promises no wake-up. */
    @Test
    void waitersPollBecauseNotificationsDoNotArrive() throws InterruptedException {
        try (LeaseClient holder = open();
                LeaseClient waiter = open()) {
            holder.granted("polled", holder.owner());
            OwnerToken owner = waiter.owner();
            AcquireRequest request = LeaseClient.request("polled", owner)
                    .waiting(Duration.ofMinutes(5).toNanos());
            long startAtNanos = System.nanoTime();
            while (System.nanoTime() - startAtNanos < Duration.ofSeconds(4).toNanos()) {
                assertThat(waiter.acquire(request)).isInstanceOf(AcquireReply.Busy.class);
                Thread.sleep(20);
            }
        }
        try (LockClient one = Leasehold.connect(bouncer.url());
                LockClient two = Leasehold.connect(bouncer.url())) {
            Lease held = one.named("handed over").acquire();
            CompletableFuture<Lease> waiting = two.named("handed over").acquireAsync();
            held.release();
            try (Lease next = waiting.join()) {
                assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
            }
        }
    }

    private static LeaseClient open() {
        return LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(bouncer.url()), runtime));
    }
}
