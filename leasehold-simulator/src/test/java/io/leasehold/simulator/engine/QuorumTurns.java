package io.leasehold.simulator.engine;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/** Clients of the real engine that take turns at one lock of simulated nodes, in virtual time. */
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumTurns {

    private static final LockName LOCK = LockName.exactly("turn");
    private static final QuorumSettings SETTINGS = QuorumSettings.standard().nodeTimeout(Duration.ofMillis(50));

    /**
     * One hold of the lock.
     *
     * @param waitedNanos the wait of its client
     */
    record Turn(String client, long waitedNanos, long atNanos) {}

    final VirtualWorld world;
    final List<SimulatedNode> servers = new ArrayList<>();
    final List<Turn> turns = new ArrayList<>();
    private final Duration hold;
    private final Map<SimulatedNode, Map<String, Long>> places = new HashMap<>();

    QuorumTurns(long seed, int nodes, Duration hold) {
        this.world = VirtualWorld.seeded(seed);
        this.hold = hold;
        for (int node = 0; node < nodes; node++) {
            servers.add(new SimulatedNode(world.process("node-" + node), one -> one));
        }
        QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
        operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
        operator.close();
    }

    /** The waits of all turns, in ascending order. */
    long[] waits() {
        return turns.stream().mapToLong(Turn::waitedNanos).sorted().toArray();
    }

    Client client(String name, UnaryOperator<LockOptions> options) {
        return new Client(name, options);
    }

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        return nodes.stream()
                .map(node -> QuorumMember.of(node, node.description()))
                .toList();
    }

    /**
     * One client's link to a server that wakes the first waiter, the same at every node, like {@code
     * member_release.lua}.
     */
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

    final class Client {
        final VirtualRuntime process;
        final List<FaultyNode> links = new ArrayList<>();
        final LockClient locks;
        private final String name;
        final AtomicInteger renewals = new AtomicInteger();

        Client(String name, UnaryOperator<LockOptions> options) {
            this.name = name;
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

        /** Takes turns as long as it may. */
        void takeTurns(BooleanSupplier mayGoOn) {
            if (!mayGoOn.getAsBoolean()) {
                return;
            }
            long asked = world.elapsedNanos();
            locks.named(LOCK).attemptAsync(Duration.ofSeconds(30)).thenAccept(attempt -> {
                long now = world.elapsedNanos();
                turns.add(new Turn(name, now - asked, now));
                Lease lease = attempt.orElseThrow();
                process.schedule(
                        hold.toNanos(),
                        () -> lease.releaseAsync().thenRun(() -> process.schedule(1, () -> takeTurns(mayGoOn))));
            });
        }

        Lease acquired() {
            return ((Attempt.Acquired<Lease>)
                            world.runUntilDone(locks.named(LOCK).attemptAsync(Duration.ofSeconds(5))))
                    .lease();
        }
    }
}
