package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Administrative views and actions on a table, and its close, in virtual time over a real database. */
@Tag("quick")
@Timeout(60)
class TableAdminTest {

    private static final AtomicInteger DATABASES = new AtomicInteger();

    private final String url = "jdbc:h2:mem:admin-" + DATABASES.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
    private final SqlHook hook = new SqlHook();
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final List<OwnerToken> lost = new ArrayList<>();
    private LeaseClient client;

    @BeforeEach
    void open() {
        client = LeaseClient.open(
                runtime, opened -> JdbcStores.over(hook.over(SqlHook.driver(url)), SqlDialect.H2, opened));
        client.store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                assertThat(cause).isEqualTo(LossCause.FORCE_RELEASED);
                lost.add(owner);
            }

            @Override
            public void reconnected() {}
        });
    }

    @AfterEach
    void close() throws SQLException {
        client.close();
        execute("SHUTDOWN");
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private <T> T get(CompletableFuture<T> future) throws InterruptedException {
        runtime.await(future);
        return future.join();
    }

    private OwnerToken hold(String name) throws InterruptedException {
        OwnerToken owner = client.owner();
        AcquireRequest request = AcquireRequest.exclusive(
                List.of(LockName.exactly(name)),
                owner,
                "holder of " + name,
                Duration.ofMinutes(10).toNanos(),
                LeaseClient.LIMIT.toNanos());
        assertThat(get(client.store.acquire(request))).isInstanceOf(AcquireReply.Granted.class);
        return owner;
    }

    private List<String> list(String glob, int limit) throws InterruptedException {
        return get(client.store.admin().list(glob, limit)).stream()
                .map(record -> record.name().text())
                .toList();
    }

    @Test
    void whatIsHeldIsListedInTheOrderOfNamesAndWhatIsOverIsNot() throws Exception {
        for (String name : List.of("b", "a", "over", "free", "ab")) {
            hold(name);
        }
        execute("UPDATE leasehold_lock SET expires_at = 1 WHERE name = 'over'");
        execute("UPDATE leasehold_lock SET owner = NULL WHERE name = 'free'");
        assertThat(list("*", 10)).containsExactly("a", "ab", "b");
        assertThat(list("a*", 10)).containsExactly("a", "ab");
        assertThat(list("*", 2)).containsExactly("a", "ab");
        HeldLock record =
                get(client.store.admin().describe(LockName.exactly("b"))).orElseThrow();
        assertThat(record.name()).isEqualTo(LockName.exactly("b"));
        assertThat(record.toString()).contains("holder of b");
        for (String name : List.of("over", "free", "unknown")) {
            assertThat(get(client.store.admin().describe(LockName.exactly(name))))
                    .isEmpty();
        }
    }

    @Test
    void aReleaseByForceIsToldToItsHolderHereAndOnlyIfThereWasOne() throws Exception {
        OwnerToken owner = hold("x");
        assertThat(get(client.store.admin().forceRelease(LockName.exactly("y"), null)))
                .isFalse();
        assertThat(get(client.store.admin().forceRelease(LockName.exactly("x"), "another")))
                .isFalse();
        assertThat(lost).isEmpty();
        assertThat(get(client.store.admin().forceRelease(LockName.exactly("x"), "holder of x")))
                .isTrue();
        assertThat(lost).containsExactly(owner);
        assertThat(get(client.store.admin().forceRelease(LockName.exactly("x"), null)))
                .isFalse();
        hold("x");
        // Whether the note for the holder could be left does not matter.
        execute("DROP TABLE leasehold_client");
        assertThat(get(client.store.admin().forceRelease(LockName.exactly("x"), null)))
                .isTrue();
    }

    /** A silent database must not delay the exit of a process. */
    @Test
    void theCloseWaitsForWhatIsUnderWayButNotForEver() {
        hook.before("FOR UPDATE", () -> {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(Duration.ofSeconds(20).toNanos(), () -> over.complete(null));
            runtime.await(over);
        });
        assertThat(client.store.acquire(LeaseClient.request("x", client.owner())))
                .isNotDone();
        CompletableFuture<Void> closed = new CompletableFuture<>();
        runtime.runFor(Duration.ofMillis(10));
        runtime.startThread("closes", () -> {
            client.store.close();
            closed.complete(null);
        });
        runtime.runFor(Duration.ofMillis(4_900));
        assertThat(closed).isNotDone();
        runtime.runFor(Duration.ofMillis(200));
        assertThat(closed).isDone();
        runtime.runFor(Duration.ofSeconds(20));
    }
}
