package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.Leasehold;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockListener.NodeStanding;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of five real servers that are frozen, killed, cut off, restarted empty or slow. Time limits are explicit, so
 * that a slow machine does not matter.
 */
@Timeout(120)
@Tag("full")
final class RedlockFaultTest {

    private static final Duration TTL = Duration.ofSeconds(8);
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private RedlockServers five() {
        RedlockServers servers = RedlockServers.start(5, "8s", "2s");
        open.add(servers);
        servers.declareNew();
        return servers;
    }

    private LockClient client(String uri) {
        return client(uri, event -> {});
    }

    private LockClient client(String uri, Consumer<LockListener.NodeChanged> ear) {
        LockClient client = Leasehold.builder()
                .store(uri)
                .listener(new LockListener() {
                    @Override
                    public void nodeChanged(NodeChanged event) {
                        ear.accept(event);
                    }
                })
                .defaults(LockOptions.defaults()
                        .ttl(TTL)
                        .recheck(Duration.ofMillis(500))
                        .retry(Backoff.jittered(Duration.ofMillis(10), Duration.ofMillis(50))))
                .connect();
        open.add(client);
        return client;
    }

    private static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(PATIENCE.toNanos());
            LockSupport.parkNanos(2_000_000);
        }
    }

    private static int keys(RedlockServers servers) {
        int found = 0;
        for (int node = 0; node < servers.size(); node++) {
            found += holds(servers.server(node)) ? 1 : 0;
        }
        return found;
    }

    private static boolean holds(RedisServer server) {
        String all = server.call("KEYS", "lock:{*}");
        return !all.isBlank() && !all.equals("[]");
    }

    @Test
    void aFrozenMinorityCostsNoTime() throws Exception {
        RedlockServers servers = five();
        LockClient locks = client(servers.uri());
        try (Lease warm = locks.named("warm").acquire()) {
            assertThat(warm.isValid()).isTrue();
        }
        servers.server(1).freeze();
        servers.server(3).freeze();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            long start = System.nanoTime();
            Lease lease = locks.named("frozen").acquire();
            assertThat(System.nanoTime() - start)
                    .as("the round waited for a frozen node")
                    .isLessThan(NODE_TIMEOUT.toNanos());
            assertThat(lease.fencingToken()).isGreaterThan(last);
            last = lease.fencingToken();
            lease.renew();
            assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        servers.server(4).freeze();
        assertThatThrownBy(() -> locks.named("frozen").attempt(Duration.ZERO))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("3 of 5 nodes are needed")
                .hasMessageContaining("node-2")
                .satisfies(e -> assertThat(((LockStoreException) e).votes()).hasSize(5));
        servers.server(1).thaw();
        servers.server(3).thaw();
        servers.server(4).thaw();
        try (Lease again = locks.named("frozen").tryAcquire(PATIENCE)) {
            assertThat(again).isNotNull();
            assertThat(again.fencingToken()).isGreaterThan(last);
        }
    }

    @Test
    void aKilledMinorityCostsNothingAndAnEmptyMajorityGrantsNothing() throws Exception {
        RedlockServers servers = five();
        List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
        LockClient holder = client(servers.uri());
        LockClient other = client(servers.uri(), changes::add);
        Lease lease = holder.named("killed").acquire();
        until("all nodes have it", () -> keys(servers) == 5);
        for (int node = 0; node < 3; node++) {
            servers.server(node).kill();
            servers.server(node).restartEmpty();
        }
        // A client without the quarantine would consider the lock free.
        assertThat(keys(servers)).as("nodes that still know of the holder").isEqualTo(2);
        StringBuilder refusals = new StringBuilder();
        until("the nodes are asked again, and refuse", () -> {
            try {
                Attempt<Lease> attempt = other.named("killed").attempt(Duration.ZERO);
                assertThat(attempt).as("two hold").isInstanceOf(Attempt.Busy.class);
                return false;
            } catch (StoreUnavailableException e) {
                refusals.append(e.getMessage());
                return e.getMessage().contains("may have forgotten");
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        assertThat(refusals).contains("ms more").contains("not for another");
        assertThat(lease.isValid()).isTrue();
        assertThat(changes)
                .as("told as events, with the reason")
                .anyMatch(event -> event.node().equals("node-1")
                        && event.now() == NodeStanding.QUARANTINED
                        && event.detail().contains("may have forgotten what it granted"));
        lease.close();
        try (Lease after = other.named("killed").tryAcquire(PATIENCE)) {
            assertThat(after).as("granted again after the quarantine").isNotNull();
            assertThat(after.fencingToken()).isGreaterThan(lease.fencingToken());
        }
        until("and that is reported, too, once the node is asked", () -> {
            try (Lease asks = other.named("killed").tryAcquire(Duration.ZERO)) {
                return changes.stream()
                        .anyMatch(event -> event.node().equals("node-1")
                                && event.before() == NodeStanding.QUARANTINED
                                && event.now() == NodeStanding.TRUSTED);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void aBlackHoledMinorityCostsNothingAlsoAtTheStart() throws Exception {
        RedlockServers servers = five();
        servers.proxy(0).drop();
        servers.proxy(4).refuseConnections();
        List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
        LockClient locks = client(servers.uriOverProxies(), changes::add);
        assertThat(changes)
                .as("the missing nodes are reported at the start")
                .extracting(LockListener.NodeChanged::node, LockListener.NodeChanged::now)
                .containsExactlyInAnyOrder(
                        tuple("node-1", NodeStanding.UNREACHABLE), tuple("node-5", NodeStanding.UNREACHABLE));
        for (int i = 0; i < 5; i++) {
            try (Lease lease = locks.named("hole").acquire()) {
                assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
        servers.proxy(0).heal();
        servers.proxy(4).acceptConnections();
        servers.proxy(1).drop();
        servers.proxy(2).drop();
        try (Lease lease = locks.named("hole").tryAcquire(PATIENCE)) {
            assertThat(lease).as("the nodes that came back make the quorum").isNotNull();
        }
    }

    @Test
    void nothingIsHeldAfterClose() throws Exception {
        RedlockServers servers = five();
        LockClient locks = client(servers.uri());
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            leases.add(locks.named("closed-" + i).acquire());
        }
        locks.close();
        assertThat(leases).noneMatch(Lease::isValid);
        assertThat(keys(servers)).isZero();
    }

    @Test
    void threeClientsWaitingOnFiveNodesAllGetTheirTurn() throws Exception {
        RedlockServers servers = five();
        AtomicInteger[] grants = new AtomicInteger[3];
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        long[] last = {0};
        for (int i = 0; i < 3; i++) {
            LockClient locks = client(servers.uri());
            AtomicInteger count = new AtomicInteger();
            grants[i] = count;
            Thread thread = new Thread(() -> {
                try {
                    while (count.get() < 30) {
                        try (Lease lease = locks.named("turn").acquire()) {
                            synchronized (last) {
                                assertThat(lease.fencingToken()).isGreaterThan(last[0]);
                                last[0] = lease.fencingToken();
                            }
                            count.incrementAndGet();
                            LockSupport.parkNanos(5_000_000);
                        }
                    }
                } catch (Throwable e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(100));
            assertThat(thread.isAlive()).as("a client starves").isFalse();
        }
        assertThat(failures).isEmpty();
    }

    @Test
    void aNewSetWaitsOneQuarantineUnlessItIsDeclaredNew() throws Exception {
        RedlockServers servers = RedlockServers.start(3, "1s", "250ms");
        open.add(servers);
        LockClient locks = Leasehold.builder()
                .store(servers.uri())
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(1)))
                .connect();
        open.add(locks);
        assertThatThrownBy(() -> locks.named("new").attempt(Duration.ZERO))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("forgotten");
        long start = System.nanoTime();
        try (Lease lease = locks.named("new").tryAcquire(PATIENCE)) {
            assertThat(lease).isNotNull();
            assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(900));
        }
    }

    @Test
    void clientsThatDifferAreToldBothConfigurations() throws Exception {
        RedlockServers servers = five();
        client(servers.uri()).named("agreed").acquire().close();
        List<Integer> ports = new ArrayList<>();
        for (int node = 0; node < 5; node++) {
            ports.add(servers.server(node).port());
        }
        List<LockListener.NodeChanged> changes = new CopyOnWriteArrayList<>();
        LockClient other = client(servers.uri(ports, "20s"), changes::add);
        assertThatThrownBy(() -> other.named("agreed").attempt(Duration.ZERO))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("maxTtl 8000 ms")
                .hasMessageContaining("maxTtl 20000 ms");
        until(
                "its listener is notified",
                () -> changes.stream()
                        .anyMatch(event -> event.now() == NodeStanding.OTHER_CONFIGURATION
                                && event.detail().contains("maxTtl 8000 ms")));
        LockClient fewer = client(servers.uri(ports.subList(0, 3), "8s"));
        assertThatThrownBy(() -> fewer.named("agreed").attempt(Duration.ZERO))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("is a member of 5 nodes [node-1, node-2, node-3, node-4, node-5]")
                .hasMessageContaining("configured for 3 nodes [node-1, node-2, node-3]");
    }

    @Test
    void aTtlThatDoesNotFitIsRefusedWithTheArithmetic() {
        RedlockServers servers = five();
        LockClient locks = client(servers.uri());
        assertThatThrownBy(() -> locks.named("long")
                        .with(o -> o.ttl(Duration.ofSeconds(20)))
                        .attempt(Duration.ZERO))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("20s")
                .hasMessageContaining("8s");
        assertThatThrownBy(() -> locks.named("short")
                        .with(o -> o.ttl(Duration.ofSeconds(3)))
                        .attempt(Duration.ZERO))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("ttl 3000.0 ms less drift 32.0 ms leaves 2968.0 ms")
                .hasMessageContaining("2 × node timeout 2000.0 ms")
                .hasMessageContaining("use a ttl above");
    }

    /** Structured answers of each node, at a busy lock, at a release, at a loss. */
    @Test
    void eachNodeIsQuoted() throws Exception {
        RedlockServers servers = five();
        LockClient holder = client(servers.uri());
        LockClient other = client(servers.uri());
        Lease lease = holder.named("quoted").acquire();
        until("all nodes have it", () -> keys(servers) == 5);
        LockBusyException busy = catchThrowableOfType(
                LockBusyException.class,
                () -> other.named("quoted").attempt(Duration.ZERO).orElseThrow());
        assertThat(busy.votes()).hasSize(5);
        assertThat(busy.votes().toString()).contains(": busy (held by ");
        for (int node = 0; node < 3; node++) {
            servers.server(node).call("DEL", "lock:{quoted}");
        }
        LeaseLostException lost = catchThrowableOfType(LeaseLostException.class, lease::renew);
        assertThat(lost.lossCause()).isEqualTo(LossCause.NOT_OURS);
        assertThat(lost).hasMessageContaining("node-1: refused (does not hold the lock for this lease)");
        assertThat(lost.votes()).extracting(NodeVote::node).contains("node-1", "node-2", "node-3");
        HoldEnd end = lease.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(end).isInstanceOf(HoldEnd.Lost.class);
        assertThat(end.votes()).hasSize(5);
        lease.close();
        Lease next = other.named("quoted").tryAcquire(PATIENCE);
        assertThat(next).isNotNull();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
        HoldEnd released = next.whenEnded().toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(released.votes()).hasSize(5);
        assertThat(released.votes().stream()
                        .filter(vote -> vote.answer() == NodeVote.Answer.GRANTED)
                        .count())
                .isGreaterThanOrEqualTo(3);
    }

    /** On real servers: renewals are capped, and both caps are announced before they end the hold. */
    @Test
    void triesAndTheWholeHoldAreCappedAndAnnounced() throws Exception {
        RedlockServers servers = five();
        AtomicInteger tries = new AtomicInteger();
        LockClient locks = Leasehold.builder()
                .store(servers.uri())
                .listener(new LockListener() {
                    @Override
                    public void renewed(Renewed event) {
                        tries.addAndGet(event.outcome() == RenewalOutcome.FAILED ? 1 : 0);
                    }
                })
                .defaults(LockOptions.defaults()
                        .ttl(Duration.ofSeconds(6))
                        .renewalTries(2)
                        .maxHold(Duration.ofSeconds(9)))
                .connect();
        open.add(locks);
        Lease whole = locks.named("whole").acquire();
        CompletableFuture<Duration> wholeAtRisk = new CompletableFuture<>();
        CompletableFuture<LossCause> wholeLost = new CompletableFuture<>();
        whole.onAtRisk(wholeAtRisk::complete);
        whole.onLost(wholeLost::complete);
        assertThat(wholeLost.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.MAX_HOLD);
        assertThat(wholeAtRisk).isCompleted();
        Lease capped =
                locks.named("capped").with(o -> o.maxHold(Duration.ofHours(1))).acquire();
        CompletableFuture<Duration> atRisk = new CompletableFuture<>();
        CompletableFuture<LossCause> lost = new CompletableFuture<>();
        capped.onAtRisk(atRisk::complete);
        capped.onLost(lost::complete);
        for (int node = 0; node < 3; node++) {
            servers.server(node).kill();
        }
        tries.set(0);
        assertThat(lost.get(60, TimeUnit.SECONDS)).isEqualTo(LossCause.EXPIRED);
        assertThat(atRisk).isCompleted();
        assertThat(tries.get()).isBetween(1, 2);
    }

    @Test
    void twoAddressesOfOneServerAreRefused() {
        RedlockServers servers = five();
        try (TcpProxy alias = TcpProxy.to(servers.server(0).port())) {
            List<Integer> ports =
                    List.of(servers.server(0).port(), servers.server(1).port(), alias.port());
            assertThatThrownBy(() -> Leasehold.connect(servers.uri(ports, "8s")))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("node-3")
                    .hasMessageContaining("same server as node-1");
        }
    }

    @Test
    void withoutAQuorumThereIsNoClient() {
        RedlockServers servers = five();
        for (int node = 0; node < 3; node++) {
            servers.server(node).kill();
        }
        assertThatThrownBy(() -> Leasehold.connect(servers.uri()))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("only 2 of 5 nodes answer")
                .hasMessageContaining("node-1");
    }

    @Test
    void durableIsVerified() {
        RedlockServers servers = five();
        String uri = servers.uri().replace("name%3Dnode-2", "name%3Dnode-2%26durable%3Dtrue");
        assertThatThrownBy(() -> Leasehold.connect(uri))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("node-2")
                .hasMessageContaining("appendfsync always");
    }
}
