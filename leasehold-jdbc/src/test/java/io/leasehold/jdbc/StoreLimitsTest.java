package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The time limit of each verb is that of its request, and no timer outlives the store. In virtual time, over a real
 * database.
 */
@Tag("quick")
@Timeout(60)
class StoreLimitsTest {

    private static final LockName NAME = LockName.exactly("x");
    private static final long TTL = Duration.ofMinutes(10).toNanos();
    private static final long LIMIT = Duration.ofSeconds(20).toNanos();

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private final SqlHook hook = new SqlHook();
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final LockStore store = JdbcStores.over(hook.over(SqlHook.driver(url)), SqlDialect.H2, runtime);
    private final OwnerToken owner = OwnerToken.draw(runtime);
    private int looks;

    @AfterEach
    void close() throws SQLException {
        store.close();
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("SHUTDOWN");
        }
    }

    private static AcquireRequest request(OwnerToken owner, long limitNanos) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "test", TTL, limitNanos);
    }

    /** Makes the next statement that locks a row take a second. */
    private void isSlow() {
        hook.before("FOR UPDATE", () -> {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(1_000_000_000L, () -> over.complete(null));
            runtime.await(over);
        });
    }

    private <T> T answer(CompletableFuture<T> reply, int limitMillis) {
        runtime.runFor(Duration.ofMillis(limitMillis - 5));
        assertThat(reply).isNotDone();
        runtime.runFor(Duration.ofMillis(6));
        assertThat(reply).isDone();
        runtime.runFor(Duration.ofSeconds(2));
        return reply.join();
    }

    @Test
    void eachVerbIsAnsweredWithinTheLimitOfItsRequest() {
        CompletableFuture<AcquireReply> first = store.acquire(request(owner, LIMIT));
        runtime.runFor(Duration.ofMillis(10));
        assertThat(first.join()).isInstanceOf(AcquireReply.Granted.class);
        isSlow();
        assertThat(answer(store.acquire(request(OwnerToken.draw(runtime), 100_000_000L)), 100))
                .isInstanceOf(AcquireReply.Failed.class);
        isSlow();
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(NAME, owner, TTL)), 200_000_000L);
        assertThat(answer(store.renew(batch), 200).items().get(0)).isInstanceOf(RenewReply.Failed.class);
        isSlow();
        ReleaseRequest release = new ReleaseRequest(List.of(NAME), owner, 1, ReleaseRequest.Kind.RELEASE, 300_000_000L);
        assertThat(answer(store.release(release), 300)).isInstanceOf(ReleaseReply.Failed.class);
    }

    /** Such requests have no limit of their own. */
    @Test
    void whatAnOperatorAsksIsAnsweredWithinTenSeconds() throws SQLException {
        hook.before("leasehold_lock WHERE name", () -> {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(Duration.ofSeconds(30).toNanos(), () -> over.complete(null));
            runtime.await(over);
        });
        CompletableFuture<?> asked = store.admin().describe(NAME);
        runtime.runFor(Duration.ofMillis(9_990));
        assertThat(asked).isNotDone();
        runtime.runFor(Duration.ofMillis(11));
        assertThat(asked.handle((record, error) -> String.valueOf(error.getMessage()))
                        .join())
                .contains("a look at x at ", "was not answered within 10000 ms");
        runtime.runFor(Duration.ofSeconds(30));
    }

    /** Housekeeping comes again with the next rows that are created. */
    @Test
    void housekeepingThatAnotherTransactionIsInTheWayOfIsNotRepeated() throws SQLException {
        countLooksForOldRows();
        try (Connection other = SqlHook.driver(url).getConnection();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.executeQuery("SELECT * FROM leasehold_store FOR UPDATE").close();
            CompletableFuture<AcquireReply> reply = store.acquire(request(owner, LIMIT));
            runtime.runFor(Duration.ofSeconds(5));
            assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class);
            assertThat(looks).isEqualTo(1);
            other.rollback();
        }
    }

    private void countLooksForOldRows() {
        hook.before("fence_floor FROM leasehold_store WHERE id = 1 FOR UPDATE", () -> {
            looks++;
            countLooksForOldRows();
        });
    }

    @Test
    void noTimerOutlivesTheStore() {
        int before = runtime.world().pendingEvents();
        LockStore own = JdbcStores.connect(url, "this one", SqlDialect.H2.statements(), null, runtime);
        CompletableFuture<AcquireReply> reply = own.acquire(request(OwnerToken.draw(runtime), LIMIT));
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class);
        own.close();
        assertThat(runtime.world().pendingEvents()).isEqualTo(before);
    }
}
