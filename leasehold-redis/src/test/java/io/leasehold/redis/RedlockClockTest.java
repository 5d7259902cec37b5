package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.servers.ClockShim;
import io.leasehold.servers.ServerUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of five real servers whose wall clocks really jump: they are excluded and reported, and no two clients hold the
 * same lock.
 */
@Timeout(180)
@Tag("quick")
final class RedlockClockTest {

    private static final Duration TTL = Duration.ofSeconds(20);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static ClockShim shim;
    private static RedlockServers servers;

    private final List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
    private LockClient holder;
    private LockClient rival;

    @BeforeAll
    static void start() {
        try {
            shim = ClockShim.compile();
            servers = RedlockServers.start(5, "20s", "2s", builder -> builder.clock(shim.clock()));
        } catch (ServerUnavailableException e) {
            abort("no clock of a server can be moved here: " + e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (servers != null) {
            servers.close();
        }
        if (shim != null) {
            shim.close();
        }
    }

    @BeforeEach
    void open() {
        for (int node = 0; node < servers.size(); node++) {
            servers.server(node).clock().reset();
            servers.server(node).call("FLUSHALL");
        }
        servers.declareNew();
        holder = client(changes::add);
        rival = client(event -> {});
    }

    @AfterEach
    void close() {
        holder.close();
        rival.close();
    }

    private static LockClient client(java.util.function.Consumer<LockListener.NodeChanged> ear) {
        return Leasehold.builder()
                .store(servers.uri())
                .listener(new LockListener() {
                    @Override
                    public void nodeChanged(NodeChanged event) {
                        ear.accept(event);
                    }
                })
                .defaults(LockOptions.defaults().ttl(TTL).recheck(Duration.ofMillis(500)))
                .connect();
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(10_000_000);
        }
    }

    private static boolean keeps(int node, String lock) {
        return servers.server(node).call("EXISTS", "lock:{" + lock + "}").equals("1");
    }

    /** Both clients know the clocks; all nodes have the key. */
    private Lease held(String lock) throws InterruptedException {
        rival.named("warm").acquire().close();
        Lease lease = holder.named(lock).acquire();
        until("all nodes have it", () -> {
            int count = 0;
            for (int node = 0; node < 5; node++) {
                count += keeps(node, lock) ? 1 : 0;
            }
            return count == 5;
        });
        return lease;
    }

    private void neverHeldByBoth(Lease lease, String lock, int tries) throws InterruptedException {
        for (int i = 0; i < tries; i++) {
            Attempt<Lease> attempt = rival.named(lock).attempt(Duration.ZERO);
            assertThat(attempt).as("two hold").isInstanceOf(Attempt.Busy.class);
            renew(lease);
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** On a busy machine an answer may be late; then the lease continues until the next renewal. */
    private static void renew(Lease lease) {
        try {
            lease.renew();
        } catch (StoreUnavailableException late) {
            assertThat(late.votes()).hasSize(5);
        }
    }

    private boolean excluded(String node) {
        return changes.stream()
                .anyMatch(event -> event.node().equals(node)
                        && event.now() == LockListener.NodeStanding.EXCLUDED
                        && event.detail().contains("its clock"));
    }

    private void goesOnWithLargerTokens(Lease lease, String lock) throws InterruptedException {
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        long last = lease.fencingToken();
        for (LockClient client : List.of(rival, holder, rival)) {
            try (Lease next = client.named(lock).tryAcquire(PATIENCE)) {
                assertThat(next).isNotNull();
                assertThat(next.fencingToken()).isGreaterThan(last);
                last = next.fencingToken();
            }
        }
        assertThat(last)
                .as("no token runs away with a clock")
                .isLessThan((System.currentTimeMillis() + 1_800_000) * 1_000);
    }

    @Test
    void anHourForwardsAtTwoNodes() throws Exception {
        Lease lease = held("forwards");
        servers.server(0).clock().step(Duration.ofHours(1));
        servers.server(3).clock().step(Duration.ofHours(1));
        // The fault has happened: these two nodes would grant the lock to any client.
        assertThat(keeps(0, "forwards")).isFalse();
        assertThat(keeps(3, "forwards")).isFalse();
        neverHeldByBoth(lease, "forwards", 20);
        until("both are reported", () -> excluded("node-1") && excluded("node-4"));
        goesOnWithLargerTokens(lease, "forwards");
    }

    /** The fence that such a node reports must not become the ballot with which the lease ends at all nodes. */
    @Test
    void anHourForwardsAtOneNodeWhileNothingIsHeldDelaysNoRelease() throws Exception {
        rival.named("warm").acquire().close();
        holder.named("warm").acquire().close();
        servers.server(2).clock().step(Duration.ofHours(1));
        Lease lease = holder.named("after-the-step").acquire();
        assertThat(keeps(2, "after-the-step")).isFalse();
        for (int i = 0; i < 3; i++) {
            renew(lease);
        }
        until("it is reported", () -> excluded("node-3"));
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        try (Lease next = rival.named("after-the-step").tryAcquire(Duration.ofSeconds(10))) {
            assertThat(next).as("another client's lease").isNotNull();
            assertThat(next.fencingToken())
                    .isGreaterThan(lease.fencingToken())
                    .isLessThan((System.currentTimeMillis() + 60_000) * 1_000);
        }
    }

    @Test
    void anHourForwardsAndAnHourBack() throws Exception {
        Lease lease = held("both-ways");
        servers.server(1).clock().step(Duration.ofHours(1));
        servers.server(2).clock().step(Duration.ofHours(-1));
        assertThat(keeps(1, "both-ways")).isFalse();
        assertThat(Long.parseLong(servers.server(2).call("PTTL", "lock:{both-ways}")))
                .as("lives for an hour more")
                .isGreaterThan(TTL.toMillis());
        neverHeldByBoth(lease, "both-ways", 20);
        until("both are reported", () -> excluded("node-2") && excluded("node-3"));
        goesOnWithLargerTokens(lease, "both-ways");
    }

    @Test
    void fivePercentFastAndFivePercentSlow() throws Exception {
        Lease lease = held("drift");
        servers.server(0).clock().rate(50_000);
        servers.server(4).clock().rate(-50_000);
        long start = System.nanoTime();
        while (!excluded("node-1") || !excluded("node-5")) {
            assertThat(System.nanoTime() - start).as("both are reported").isLessThan(PATIENCE.toNanos());
            neverHeldByBoth(lease, "drift", 1);
        }
        neverHeldByBoth(lease, "drift", 10);
        goesOnWithLargerTokens(lease, "drift");
    }

    /** A client that only holds and renews watches the clocks, too. */
    @Test
    void aHolderThatOnlyRenewsNoticesIt() throws Exception {
        Lease lease = held("renewed");
        renew(lease);
        servers.server(2).clock().step(Duration.ofSeconds(-30));
        until("it is reported", () -> {
            renew(lease);
            return excluded("node-3");
        });
        assertThat(lease.isValid()).isTrue();
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
