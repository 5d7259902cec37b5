package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Leak;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.StoreUri;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The records that clients keep for operators at a database, and the notes that operators leave for clients. */
@Timeout(180)
interface ClientRecordTests {

    /** The store. */
    String storeUri();

    /** A connection of an administrator to the same database. */
    Connection administrator() throws SQLException;

    private static void await(String what, BooleanSupplier condition) {
        long startAtNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(Duration.ofNanos(System.nanoTime() - startAtNanos))
                    .as(what)
                    .isLessThan(Duration.ofSeconds(60));
            LockSupport.parkNanos(20_000_000);
        }
    }

    private long count(String condition) throws SQLException {
        try (Connection connection = administrator();
                Statement statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT COUNT(*) FROM leasehold_client WHERE " + condition)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    @Test
    default void aLongHoldTellsWhoHoldsAndWhatIsPastIsForgotten() throws Exception {
        try (LockClient locks =
                Leasehold.builder().store(storeUri()).label("billing").connect()) {
            for (int i = 0; i < 20; i++) {
                locks.named("records short").acquire().close();
            }
            assertThat(count("holder = '" + locks.holderId() + "'"))
                    .as("a short hold costs nothing")
                    .isZero();
            try (Connection connection = administrator();
                    Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO leasehold_client (holder, origin, expires_at, told)"
                        + " VALUES ('dead/1/client', 'database', 1, 'x')");
            }
            assertThat(locks.admin().client("dead/1/client")).isEmpty();
            try (Lease lease = locks.named("records long").acquire()) {
                lease.renew();
                // On a slow machine the first record is older than the renewal.
                await(
                        "a record of the renewal",
                        () -> locks.admin()
                                .client(locks.holderId())
                                .flatMap(told -> told.holdOf(LockName.exactly("records long")))
                                .filter(told -> told.renewals() > 0)
                                .isPresent());
                ClientRecord record = locks.admin().client(locks.holderId()).orElseThrow();
                assertThat(record.pid()).isEqualTo(ProcessHandle.current().pid());
                assertThat(record.application()).isEqualTo("billing");
                ClientRecord.ClientHold hold =
                        record.holdOf(LockName.exactly("records long")).orElseThrow();
                assertThat(hold.thread()).isEqualTo(Thread.currentThread().getName());
                assertThat(hold.renewals()).isPositive();
                assertThat(count("holder = 'dead/1/client'")).isZero();
            }
        }
    }

    @Test
    default void findsHoldersThatAreGoneAndHoldsThatLastTooLong() throws Exception {
        try (LeaseClient stranger =
                        LeaseClient.open(runtime -> new JdbcStoreProvider().open(StoreUri.parse(storeUri()), runtime));
                LockClient locks = Leasehold.connect(storeUri())) {
            stranger.acquire(AcquireRequest.exclusive(
                    List.of(LockName.exactly("leak gone")),
                    stranger.owner(),
                    "host/1/silent",
                    Duration.ofMinutes(10).toNanos(),
                    LeaseClient.LIMIT.toNanos()));
            try (Lease lease = locks.named("leak old").acquire()) {
                await("a record", () -> locks.admin().client(locks.holderId()).isPresent());
                List<Leak> leaks = locks.admin().leaks(Duration.ZERO).stream()
                        .filter(leak -> leak.subject().startsWith("leak "))
                        .toList();
                assertThat(leaks)
                        .extracting(Leak::kind, Leak::subject)
                        .containsExactly(
                                tuple(Leak.Kind.HOLDER_GONE, "leak gone"), tuple(Leak.Kind.HELD_TOO_LONG, "leak old"));
                assertThat(lease.isValid()).isTrue();
            }
        }
    }

    /** Long before the next renewal, which would come after 20 minutes. */
    @Test
    default void aHolderIsToldThatItsLocksWereTaken() throws Exception {
        try (LockClient holder = Leasehold.builder()
                        .store(storeUri())
                        .defaults(LockOptions.defaults().ttl(Duration.ofHours(1)))
                        .connect();
                LockClient operator = Leasehold.connect(storeUri());
                Lease one = holder.named("taken one").acquire();
                Lease other = holder.named("taken other").acquire();
                Lease kept = holder.named("taken not").acquire()) {
            await("a record", () -> operator.admin().client(holder.holderId()).isPresent());
            for (String name : new String[] {"taken one", "taken other"}) {
                assertThat(operator.admin().forceRelease(LockName.exactly(name), holder.holderId()))
                        .isTrue();
            }
            HoldEnd taken = new HoldEnd.Lost(LossCause.FORCE_RELEASED);
            assertThat(one.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .isEqualTo(taken);
            assertThat(other.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .isEqualTo(taken);
            assertThat(kept.isValid()).isTrue();
            kept.renew();
        }
    }
}
