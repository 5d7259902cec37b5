package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.process.ChildJvm;
import io.leasehold.testkit.virtual.SteppedWallClock;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The clock by which the leases of an SQLite store end. */
@Tag("full")
class SqliteClockTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("locks.db");
    }

    private LeaseClient open(SteppedWallClock clock) {
        return LeaseClient.open(clock, runtime -> SqliteStore.open(file(), runtime));
    }

    private static Holder holder(LeaseClient client, String name) {
        return client.store
                .admin()
                .describe(LockName.exactly(name))
                .join()
                .orElseThrow()
                .holder();
    }

    /** Commits that the disk may have lost are below the horizon, and deleted rows are below the floor. */
    @ParameterizedTest
    @ValueSource(strings = {"fence_floor", "token_horizon"})
    void afterABootTokensGoOnAboveWhateverWasGranted(String bound) throws SQLException {
        SteppedWallClock clock = new SteppedWallClock(new SystemLockRuntime());
        open(clock).close();
        long granted = (clock.wallMillis() + 3_600_000) * 1_000;
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement()) {
            statement.execute("UPDATE leasehold_store SET fence_floor = 1, token_horizon = 1, boot = 'boot:before'");
            statement.execute("UPDATE leasehold_store SET " + bound + " = " + granted);
        }
        try (LeaseClient client = open(clock)) {
            assertThat(client.granted("x", client.owner()).grant().tokens().first())
                    .isGreaterThan(granted);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1})
    void aStepOfTheWallClockNeitherEndsNorLengthensALease(long hours) {
        SteppedWallClock clock = new SteppedWallClock(new SystemLockRuntime());
        try (LeaseClient client = open(clock);
                LeaseClient other = open(new SteppedWallClock(new SystemLockRuntime()))) {
            OwnerToken owner = client.owner();
            AcquireReply.Granted granted = client.granted("x", owner);
            clock.step(Duration.ofHours(hours));
            assertThat(client.acquire("x", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            assertThat(other.acquire("x", other.owner())).isInstanceOf(AcquireReply.Busy.class);
            assertThat(holder(client, "x").remainingTtl()).isBetween(Duration.ofSeconds(1), LeaseClient.TTL);
            assertThat(client.renew("x", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
            assertThat(holder(other, "x").remainingTtl()).isBetween(Duration.ofSeconds(1), LeaseClient.TTL);
            client.release("x", owner);
            AcquireReply.Granted next = client.granted("x", client.owner());
            assertThat(next.grant().tokens().first())
                    .as("tokens increase also when the wall clock goes back")
                    .isGreaterThan(granted.grant().tokens().last());
        }
    }

    @Test
    void aShortLeaseEndsInItsTimeAlthoughTheWallClockWentBack() {
        SteppedWallClock clock = new SteppedWallClock(new SystemLockRuntime());
        try (LeaseClient client = open(clock)) {
            AcquireReply reply = client.acquire(AcquireRequest.exclusive(
                    List.of(LockName.exactly("x")),
                    client.owner(),
                    "test",
                    Duration.ofMillis(300).toNanos(),
                    PATIENCE.toNanos()));
            assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
            clock.step(Duration.ofHours(-1));
            long startAtNanos = clock.nanoTime();
            OwnerToken next = client.owner();
            while (!(client.acquire("x", next) instanceof AcquireReply.Granted)) {
                assertThat(clock.nanoTime() - startAtNanos).isLessThan(PATIENCE.toNanos());
            }
        }
    }

    /** Prints the time on each request. */
    static final class Ticker {
        private Ticker() {}

        public static void main(String[] args) throws Exception {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            System.out.println("ready");
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println("tick " + System.nanoTime());
            }
        }
    }

    /** The premise of the machine's clock. */
    @Test
    void nanoTimeIsOneClockForAllProcesses() throws InterruptedException {
        try (ChildJvm child = ChildJvm.of(Ticker.class).start()) {
            child.awaitLine("ready", PATIENCE);
            for (int i = 0; i < 100; i++) {
                long before = System.nanoTime();
                child.send("?");
                String line = child.awaitLine("tick", PATIENCE);
                long after = System.nanoTime();
                assertThat(Long.parseLong(line.substring("tick ".length()))).isBetween(before, after);
            }
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement()) {
            statement.execute("PRAGMA busy_timeout = 10000");
            statement.execute(sql);
        }
    }

    @Test
    void holdsOfAnEarlierBootAreVoid() throws SQLException {
        try (LeaseClient client = open(new SteppedWallClock(new SystemLockRuntime()))) {
            OwnerToken owner = client.owner();
            AcquireReply.Granted granted = client.granted("x", owner);
            execute(
                    "UPDATE leasehold_lock SET origin = 'boot:earlier', life = 'gone', expires_at = expires_at + 86400000000000");
            assertThat(client.store.admin().describe(LockName.exactly("x")).join())
                    .isEmpty();
            assertThat(client.renew("x", owner, LeaseClient.TTL)).isInstanceOf(RenewReply.NotOurs.class);
            AcquireReply.Granted next = client.granted("x", client.owner());
            assertThat(next.grant().tokens().first())
                    .isGreaterThan(granted.grant().tokens().last());
        }
    }

    @Test
    void anEndThatCannotBeIsBoundedByTheTtl() throws SQLException {
        try (LeaseClient client = open(new SteppedWallClock(new SystemLockRuntime()))) {
            client.granted("x", client.owner());
            execute("UPDATE leasehold_lock SET expires_at = expires_at + 86400000000000");
            assertThat(client.acquire("x", client.owner())).isInstanceOf(AcquireReply.Busy.class);
            // The acquire has written the end that it read.
            assertThat(holder(client, "x").remainingTtl()).isBetween(Duration.ofSeconds(1), LeaseClient.TTL);
        }
    }

    /** A possible loss of power: the last commits are gone, and the machine boots with a clock that is behind. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "DELETE FROM leasehold_lock",
                "UPDATE leasehold_lock SET fence = 1, origin = 'boot:before', life = 'gone', expires_at = 86400000000000000"
            })
    void tokensIncreaseOverALossOfPower(String loss) throws SQLException {
        long before;
        try (LeaseClient client = open(new SteppedWallClock(new SystemLockRuntime()))) {
            AcquireRequest request = LeaseClient.request("x", client.owner()).reserve(64);
            before = client.acquire(request).ballot();
        }
        execute(loss);
        execute("UPDATE leasehold_store SET boot = 'boot:before'");
        SteppedWallClock behind = new SteppedWallClock(new SystemLockRuntime());
        behind.step(Duration.ofHours(-1));
        try (LeaseClient client = open(behind)) {
            assertThat(client.granted("x", client.owner()).grant().tokens().first())
                    .isGreaterThan(before);
        }
    }

    @Test
    void noTokenIsBeyondTheHorizon() throws SQLException {
        try (LeaseClient client = open(new SteppedWallClock(new SystemLockRuntime()))) {
            long ahead = client.runtime.wallMillis() * 1000;
            for (int i = 0; i < 5; i++) {
                OwnerToken owner = client.owner();
                ahead = client.acquire(LeaseClient.request("x", owner).seenToken(ahead + 500_000_000L))
                        .ballot();
                client.release("x", owner);
                assertThat(number("SELECT token_horizon FROM leasehold_store")).isGreaterThanOrEqualTo(ahead);
            }
            assertThat(number("SELECT fence FROM leasehold_lock")).isEqualTo(ahead);
        }
    }

    private long number(String query) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
                Statement statement = connection.createStatement()) {
            return statement.executeQuery(query).getLong(1);
        }
    }
}
