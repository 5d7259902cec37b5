package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewReply;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client that pauses between any two statements does no harm. */
@Timeout(180)
interface PauseTests {

    /** A connection of an administrator. */
    Connection administrator() throws SQLException;

    /** The URI of the database. */
    String storeUri();

    /** Its dialect. */
    SqlDialect dialect();

    private long end(String name) throws SQLException {
        try (Connection connection = administrator();
                Statement statement = connection.createStatement();
                var rows =
                        statement.executeQuery("SELECT expires_at FROM leasehold_lock WHERE name = '" + name + "'")) {
            assertThat(rows.next()).isTrue();
            return rows.getLong(1);
        }
    }

    private static AcquireRequest waiting(String name, OwnerToken owner) {
        return LeaseClient.request(name, owner).waiting(Duration.ofMinutes(1).toNanos());
    }

    private static void undo(LeaseClient client, String name, OwnerToken owner, long ballot) {
        client.store
                .release(new ReleaseRequest(
                        List.of(LockName.exactly(name)),
                        owner,
                        ballot,
                        ReleaseRequest.Kind.UNDO,
                        LeaseClient.LIMIT.toNanos()))
                .join();
    }

    /**
     * A client that waits, withdraws, or raises the fence pauses before it locks the row, and the holder renews
     * meanwhile.
     */
    @Test
    default void aPauseOfAnotherClientDoesNotShortenALease() throws Exception {
        SqlHook hook = new SqlHook();
        try (LeaseClient holder =
                        LeaseClient.open(runtime -> JdbcStores.over(SqlHook.driver(storeUri()), dialect(), runtime));
                LeaseClient other = LeaseClient.open(
                        runtime -> JdbcStores.over(hook.over(SqlHook.driver(storeUri())), dialect(), runtime))) {
            OwnerToken held = holder.owner();
            long token = holder.granted("pause", held).ballot();
            // From now on waiters are noted in the row, if the database can wake them.
            OwnerToken first = other.owner();
            long patience = System.nanoTime() + Duration.ofSeconds(10).toNanos();
            while (dialect() == SqlDialect.POSTGRESQL
                    && !(other.acquire(waiting("pause", first)) instanceof AcquireReply.Queued)
                    && System.nanoTime() - patience < 0) {
                LockSupport.parkNanos(20_000_000);
            }
            undo(other, "pause", first, 0);

            AtomicLong end = new AtomicLong();
            SqlHook.Deed pause = () -> {
                LockSupport.parkNanos(300_000_000);
                assertThat(holder.renew("pause", held, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
                end.set(end("pause"));
            };
            OwnerToken waiter = other.owner();
            hook.before("FOR UPDATE", pause);
            assertThat(other.acquire(waiting("pause", waiter))).isNotInstanceOf(AcquireReply.Granted.class);
            if (hook.isDone()) {
                assertThat(end("pause")).as("behind a waiter that came").isEqualTo(end.get());
            }
            hook.before("FOR UPDATE", pause);
            undo(other, "pause", waiter, 0);
            assertThat(hook.isDone()).as("it paused").isTrue();
            assertThat(end("pause")).as("behind a waiter that left").isEqualTo(end.get());
            hook.before("FOR UPDATE", pause);
            undo(other, "pause", other.owner(), token + 1_000);
            assertThat(hook.isDone()).as("it paused").isTrue();
            assertThat(end("pause")).as("behind one that raised the fence").isEqualTo(end.get());
        }
    }

    /** A grant, renewal or release after a pause counts from after the pause. */
    @Test
    default void aPauseDoesNotEndAHoldBeforeItBegins() throws Exception {
        SqlHook hook = new SqlHook();
        try (LeaseClient client = LeaseClient.open(
                runtime -> JdbcStores.over(hook.over(SqlHook.driver(storeUri())), dialect(), runtime))) {
            OwnerToken owner = client.owner();
            client.granted("paused", owner);
            long before = end("paused");
            hook.before("FOR UPDATE", () -> LockSupport.parkNanos(300_000_000));
            assertThat(client.renew("paused", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            assertThat(end("paused") - before)
                    .as("the renewal counts from when it had the row")
                    .isGreaterThanOrEqualTo(300_000_000);
        }
    }
}
