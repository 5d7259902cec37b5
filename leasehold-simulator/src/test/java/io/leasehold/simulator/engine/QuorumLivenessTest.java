package io.leasehold.simulator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.Renewal;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.node.PassingNode;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.SimulatedNode;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The real engine over a quorum in virtual time: who waits is served, and a renewal that fails is not tried for ever. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class QuorumLivenessTest {

    private static final LockName LOCK = LockName.exactly("turn");
    private static final Duration HOLD = Duration.ofMillis(20);
    private static final long MILLI = 1_000_000L;
    private static final QuorumSettings SETTINGS = QuorumSettings.standard().nodeTimeout(Duration.ofMillis(50));

    private final VirtualWorld world = VirtualWorld.seeded(7);
    private final List<SimulatedNode> servers = new ArrayList<>();
    private final List<Long> waits = new ArrayList<>();
    private final int[] grantsInSecond = new int[60];
    private final Map<SimulatedNode, Map<String, Long>> places = new HashMap<>();

    private void servers(int count) {
        for (int node = 0; node < count; node++) {
            servers.add(new SimulatedNode(world.process("node-" + node), one -> one));
        }
        QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
        operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
        operator.close();
    }

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        return nodes.stream()
                .map(node -> QuorumMember.of(node, node.description()))
                .toList();
    }

    /** One client's way to a server that wakes whoever asked first, at every node the same, as {@code member_release.lua} does. */
    private static final class InOrder extends PassingNode {
        private final LockNode node;
        private final String client;
        private final Map<String, Long> places;

        InOrder(LockNode node, String client, Map<String, Long> places) {
            super(node);
            this.node = node;
            this.client = client;
            this.places = places;
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
            return node.acquire(ballot, membership).thenApply(reply -> {
                if (reply instanceof NodeReply.Held held && held.queued()) {
                    places.putIfAbsent(client, membership.estimateMicros());
                } else if (reply instanceof NodeReply.Yes) {
                    places.remove(client);
                }
                return reply;
            });
        }

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            if (request.kind() != ReleaseRequest.Kind.SUPERSEDED) {
                places.remove(client);
            }
            return node.release(request);
        }

        @Override
        public void listen(StoreSignals signals) {
            node.listen(new StoreSignals() {
                @Override
                public void wake(LockName name) {
                    boolean first = places.entrySet().stream()
                            .min(Map.Entry.comparingByValue())
                            .filter(place -> place.getKey().equals(client))
                            .isPresent();
                    if (first) {
                        signals.wake(name);
                    }
                }

                @Override
                public void lost(OwnerToken owner, LossCause cause) {
                    signals.lost(owner, cause);
                }

                @Override
                public void reconnected() {
                    signals.reconnected();
                }
            });
        }
    }

    private final class Client {
        private final VirtualRuntime process;
        private final List<FaultyNode> links = new ArrayList<>();
        private final LockClient locks;
        private final AtomicInteger renewals = new AtomicInteger();

        Client(String name, UnaryOperator<LockOptions> options) {
            process = world.process(name);
            for (SimulatedNode server : servers) {
                FaultyNode link = new FaultyNode(
                        new InOrder(server, name, places.computeIfAbsent(server, s -> new HashMap<>())),
                        process,
                        server.host());
                link.faults(LinkFaults.none().delay(Duration.ofNanos(200_000), Duration.ofNanos(600_000)));
                links.add(link);
            }
            locks = Leasehold.builder()
                    .store(new QuorumStore(members(links), SETTINGS, process))
                    .runtime(process)
                    .label(name)
                    .listener(new LockListener() {
                        @Override
                        public void renewed(Renewed event) {
                            renewals.incrementAndGet();
                        }
                    })
                    .defaults(options.apply(LockOptions.defaults()))
                    .connect();
        }

        void takeTurns(long untilNanos) {
            long asked = world.elapsedNanos();
            if (asked < untilNanos) {
                locks.named(LOCK).attemptAsync(Duration.ofSeconds(30)).thenAccept(attempt -> {
                    long now = world.elapsedNanos();
                    waits.add(now - asked);
                    grantsInSecond[(int) Math.min(59, now / 1_000_000_000L)]++;
                    Lease lease = ((Attempt.Acquired<Lease>) attempt).lease();
                    process.schedule(
                            HOLD.toNanos(),
                            () -> lease.releaseAsync().thenRun(() -> process.schedule(1, () -> takeTurns(untilNanos))));
                });
            }
        }

        Lease acquired() {
            return ((Attempt.Acquired<Lease>)
                            world.runUntilDone(locks.named(LOCK).attemptAsync(Duration.ofSeconds(5))))
                    .lease();
        }
    }

    /** How long a round takes at most when nobody else is there. */
    private long roundNanos() {
        Client alone = new Client("alone", options -> options);
        alone.acquired().releaseAsync();
        world.runFor(Duration.ofMillis(10));
        long most = 0;
        for (int i = 0; i < 50; i++) {
            long asked = world.elapsedNanos();
            Lease lease = alone.acquired();
            most = Math.max(most, world.elapsedNanos() - asked);
            lease.releaseAsync();
            world.runFor(Duration.ofMillis(10));
        }
        alone.locks.close();
        return most;
    }

    @Test
    void threeClientsOnFiveNodesAreServedInEverySecond() {
        servers(5);
        long round = roundNanos();
        long end = 60_000_000_000L;
        for (int i = 0; i < 3; i++) {
            new Client("client-" + i, options -> options).takeTurns(end);
        }
        long began = world.elapsedNanos() / 1_000_000_000L + 1;
        world.runUntil(() -> world.elapsedNanos() > end, Duration.ofSeconds(90));
        long[] sorted = waits.stream().mapToLong(Long::longValue).sorted().toArray();
        long p99 = sorted[sorted.length * 99 / 100];
        // Two others may be served before.
        long bound = 20 * round + 2 * HOLD.toNanos();
        System.out.printf(
                "three clients on five nodes, virtual time: %d grants, round %.2f ms, wait p50 %.2f ms, p99 %.2f ms of at most"
                        + " %.2f ms, least in a second %d%n",
                sorted.length,
                round / 1e6,
                sorted[sorted.length / 2] / 1e6,
                p99 / 1e6,
                bound / 1e6,
                Arrays.stream(grantsInSecond).skip(began).min().orElse(0));
        assertThat(Arrays.stream(grantsInSecond).skip(began).toArray())
                .as("grants in each second")
                .doesNotContain(0);
        assertThat(p99).as("the 99th of 100 waits").isLessThanOrEqualTo(bound);
    }

    /** Attempts within one validity are capped, evenly spread, and announced before the end. */
    @Test
    void renewalsThatFailAreTriedTenTimesWithinOneValidity() {
        servers(5);
        Client client = new Client("client", options -> options.renewal(Renewal.every(Duration.ofSeconds(1))));
        assertThat(triesUntilItIsLost(client)).isEqualTo(10);
        Client frugal = new Client("frugal", options -> options.renewalTries(3));
        assertThat(triesUntilItIsLost(frugal)).isEqualTo(3);
    }

    private int triesUntilItIsLost(Client client) {
        Lease lease = client.acquired();
        List<Duration> risks = new ArrayList<>();
        List<LossCause> losses = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lease.onLost(losses::add);
        client.links.forEach(FaultyNode::refuseConnections);
        int before = client.renewals.get();
        world.runUntil(() -> !losses.isEmpty(), Duration.ofSeconds(40));
        assertThat(losses).containsExactly(LossCause.EXPIRED);
        assertThat(risks).as("announced before").hasSize(1);
        assertThat(risks.get(0)).isPositive();
        int tries = client.renewals.get() - before;
        client.links.forEach(FaultyNode::acceptConnections);
        lease.releaseAsync();
        client.locks.close();
        world.runFor(Duration.ofSeconds(35));
        return tries;
    }

    /** maxHold ends a hold however well its renewals go, and says so before. */
    @Test
    void maxHoldIsAnnouncedAndReached() {
        servers(3);
        Client client = new Client(
                "client", options -> options.ttl(Duration.ofSeconds(10)).maxHold(Duration.ofSeconds(60)));
        long start = world.elapsedNanos();
        Lease lease = client.acquired();
        List<Duration> risks = new ArrayList<>();
        List<LossCause> losses = new ArrayList<>();
        lease.onAtRisk(risks::add);
        lease.onLost(losses::add);
        world.runUntil(() -> !losses.isEmpty(), Duration.ofSeconds(90));
        assertThat(losses).containsExactly(LossCause.MAX_HOLD);
        assertThat(risks).as("announced before").hasSize(1);
        assertThat(client.renewals.get()).as("it was renewed until then").isGreaterThan(10);
        assertThat(world.elapsedNanos() - start).isBetween(45_000 * MILLI, 60_000 * MILLI);
    }

    /** A clock of our own machine that is set does nothing: not to the tokens, not to who holds, not to the nodes. */
    @Test
    void ourWallClockHasNoInfluence() {
        servers(3);
        Client client = new Client("client", options -> options);
        Lease before = client.acquired();
        before.releaseAsync();
        world.runFor(Duration.ofMillis(20));
        for (Duration step : List.of(Duration.ofHours(1), Duration.ofHours(-2))) {
            client.process.stepWallClock(step);
            Lease lease = client.acquired();
            long nodes = servers.get(0).host().wallMillis() * 1_000;
            assertThat(lease.fencingToken()).isBetween(nodes - 1_000_000, nodes + 1_000_000);
            assertThat(lease.fencingToken()).isGreaterThan(before.fencingToken());
            before = lease;
            lease.releaseAsync();
            world.runFor(Duration.ofMillis(20));
        }
        Client fresh = new Client("fresh", options -> options);
        fresh.process.stepWallClock(Duration.ofHours(5));
        Lease lease = fresh.acquired();
        long nodes = servers.get(0).host().wallMillis() * 1_000;
        assertThat(lease.fencingToken()).isBetween(nodes - 1_000_000, nodes + 1_000_000);
        lease.releaseAsync();
    }
}
