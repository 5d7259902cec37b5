package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Readers of two clients: one is served just before the other locks the row of the lock. */
@Tag("quick")
@Timeout(60)
class InterleavedReadersTest {

    private static final AtomicInteger DATABASES = new AtomicInteger();
    private static final LockName WRITE = LockName.exactly("catalog");
    private static final LockName READ = WRITE.asRead();
    private static final Duration LONG = Duration.ofHours(1);

    private final String url = "jdbc:h2:mem:readers-" + DATABASES.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
    private final SqlHook hook = new SqlHook();
    private LeaseClient client;
    private LeaseClient other;

    @BeforeEach
    void open() {
        client = LeaseClient.open(runtime -> JdbcStores.over(
                hook.over(SqlHook.driver(url)), SqlDialect.H2.statements(), runtime, Duration.ofDays(1)));
        other = LeaseClient.open(runtime ->
                JdbcStores.over(SqlHook.driver(url), SqlDialect.H2.statements(), runtime, Duration.ofDays(1)));
    }

    @AfterEach
    void close() throws SQLException {
        client.close();
        other.close();
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("SHUTDOWN");
        }
    }

    private static OwnerToken reader(LeaseClient of, Duration ttl) {
        OwnerToken owner = of.owner();
        assertThat(of.acquire(AcquireRequest.exclusive(
                        List.of(READ), owner, "test", ttl.toNanos(), LeaseClient.LIMIT.toNanos())))
                .isInstanceOf(AcquireReply.Granted.class);
        return owner;
    }

    private static void renew(LeaseClient of, OwnerToken owner, Duration ttl) {
        RenewBatch.Item item = new RenewBatch.Item(READ, owner, ttl.toNanos());
        assertThat(of.store
                        .renew(new RenewBatch(List.of(item), LeaseClient.LIMIT.toNanos()))
                        .join()
                        .items()
                        .get(0))
                .isInstanceOf(RenewReply.Renewed.class);
    }

    private static void release(LeaseClient of, OwnerToken owner) {
        assertThat(of.store
                        .release(new ReleaseRequest(
                                List.of(READ), owner, 0, ReleaseRequest.Kind.RELEASE, LeaseClient.LIMIT.toNanos()))
                        .join())
                .isInstanceOf(ReleaseReply.Released.class);
    }

    private void before(Runnable deed) {
        hook.before("FOR UPDATE", deed::run);
    }

    private void assertReaders(int count, Duration least, Duration most) {
        assertThat(hook.isDone()).isTrue();
        assertThat(client.store.admin().readers(WRITE, 10).join()).hasSize(count);
        AcquireReply reply = client.acquire(LeaseClient.request(WRITE.text(), client.owner()));
        assertThat(reply).isInstanceOf(AcquireReply.Busy.class);
        Holder holder = Objects.requireNonNull(((AcquireReply.Busy) reply).holder());
        assertThat(holder.isReaders()).isTrue();
        assertThat(holder.remainingTtl()).isBetween(least, most);
    }

    @Test
    void aReaderThatComesFirstCounts() {
        reader(other, LeaseClient.TTL);
        before(() -> reader(other, LONG));
        reader(client, LeaseClient.TTL);
        assertReaders(3, LeaseClient.TTL.plusSeconds(1), LONG);
    }

    @Test
    void aRenewalThatComesFirstCounts() {
        OwnerToken first = reader(other, LeaseClient.TTL);
        before(() -> renew(other, first, LONG));
        reader(client, LeaseClient.TTL);
        assertReaders(2, LeaseClient.TTL.plusSeconds(1), LONG);
    }

    @Test
    void aRenewalThatComesBeforeAReleaseCounts() {
        OwnerToken first = reader(other, LeaseClient.TTL);
        OwnerToken second = reader(client, LeaseClient.TTL);
        before(() -> renew(other, first, LONG));
        release(client, second);
        assertReaders(1, LeaseClient.TTL.plusSeconds(1), LONG);
    }

    @Test
    void aReleaseThatComesFirstCounts() {
        OwnerToken longest = reader(other, LONG);
        before(() -> release(other, longest));
        reader(client, LeaseClient.TTL);
        assertReaders(1, Duration.ZERO, LeaseClient.TTL);
    }

    /** Housekeeping locks only the rows that it deletes, and not the row of the lock. */
    @Test
    void aReaderCountsWhoseSlotLosesItsEndedRowMeanwhile() {
        reader(other, Duration.ofMillis(1));
        OwnerToken writer = other.owner();
        while (!(other.acquire(LeaseClient.request(WRITE.text(), writer)) instanceof AcquireReply.Granted)) {
            Thread.onSpinWait();
        }
        other.release(WRITE.text(), writer);
        hook.before("UPDATE leasehold_lock SET origin", this::deleteReaders);
        reader(client, LONG);
        assertReaders(1, LeaseClient.TTL.plusSeconds(1), LONG);
    }

    private void deleteReaders() throws SQLException {
        try (Connection connection = SqlHook.driver(url).getConnection();
                Statement statement = connection.createStatement()) {
            assertThat(statement.executeUpdate("DELETE FROM leasehold_lock WHERE name LIKE 'readers%'"))
                    .isEqualTo(1);
        }
    }
}
