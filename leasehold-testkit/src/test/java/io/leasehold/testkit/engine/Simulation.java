package io.leasehold.testkit.engine;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockNode;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.history.History;
import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.history.OverlapChecker;
import io.leasehold.testkit.history.TokenChecker;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/**
 * One random walk: clients with the real engine and one real node in a virtual world, with faults of the network, of
 * processes and of clocks. Afterwards everything heals, and what is left is looked at.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class Simulation {

    static final int LOCKS = 2;

    private static final Duration CHAOS = Duration.ofSeconds(30);
    private static final Duration CALM = Duration.ofSeconds(60);

    final VirtualWorld world;
    final VirtualRuntime host;
    final List<HistoryEvent> history = new ArrayList<>();
    private final LockNode node;
    private final Map<String, Long> counts;
    /** An operator takes locks away: holders hear of it a little later, so for a while two believe. */
    private final boolean forcing;
    /** Machines sleep; in other walks wall clocks are stepped, since a step back at the same time hides a sleep. */
    private final boolean suspending;

    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private int named;

    Simulation(long seed, Map<String, Long> counts, UnaryOperator<LockNode> variant) {
        this.counts = counts;
        this.forcing = seed % 4 == 0;
        this.suspending = seed % 3 == 0;
        world = VirtualWorld.seeded(seed);
        host = world.process("node");
        host.monotonicRate(1.0 + (world.randomBelow(801) - 400) / 100_000.0);
        node = new Watched(variant.apply(new InMemoryNode(host)));
    }

    /** Nothing may be granted to an owner token that was ended, however late a copy of its requests arrives. */
    private final class Watched extends PassingNode {
        private final Set<OwnerToken> ended = new HashSet<>();
        private final Set<String> endedAttempts = new HashSet<>();

        Watched(LockNode node) {
            super(node);
        }

        @Override
        public void listen(StoreSignals signals) {
            super.listen(new StoreSignals() {
                @Override
                public void wake(LockName name) {
                    signals.wake(name);
                }

                @Override
                public void handedOver(HandOver handOver) {
                    count("handed over");
                    if (endedAttempts.contains(handOver.attemptId())) {
                        problems.add("zombie: an ended owner token was handed " + handOver.name() + " at "
                                + world.elapsed());
                    }
                    signals.handedOver(handOver);
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

        @Override
        public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
            if (!ended.add(request.owner())) {
                count("repeated release");
            }
            endedAttempts.add(request.owner().attemptId());
            return super.release(request);
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            return super.acquire(ballot).thenApply(reply -> {
                if (ended.contains(ballot.request().owner())) {
                    count("late acquire");
                    if (reply instanceof NodeReply.Yes) {
                        problems.add("zombie: an ended owner token was granted "
                                + ballot.request().names() + " at " + world.elapsed());
                    }
                }
                return reply;
            });
        }
    }

    /** What one client sends: the ballots of an attempt strictly rise, whatever became of the clock estimate. */
    final class Rising extends PassingNode {
        private final Map<OwnerToken, Long> highest = new HashMap<>();

        Rising(LockNode link) {
            super(link);
        }

        @Override
        public CompletableFuture<NodeReply> acquire(Ballot ballot) {
            Long before = highest.put(ballot.request().owner(), ballot.tokens().last());
            if (before != null) {
                count("another ballot");
                if (ballot.candidate() <= before) {
                    problems.add("ballot " + ballot.candidate() + " follows " + before + " in one attempt at "
                            + world.elapsed());
                }
            }
            return super.acquire(ballot);
        }
    }

    static LockName lock(long number) {
        return LockName.exactly("lock-" + number);
    }

    void count(String what) {
        counts.merge(what, 1L, Long::sum);
        world.note(what);
    }

    /** What went wrong, in words; empty if nothing did. */
    List<String> run() {
        for (int i = 0; i < 3; i++) {
            begin();
        }
        harm();
        world.runFor(CHAOS);
        problems.addAll(calmDown());
        History all = History.of(history);
        if (!forcing) {
            OverlapChecker.check(all).forEach(v -> problems.add("overlap: " + v));
        }
        TokenChecker.check(all).forEach(v -> problems.add("token: " + v));
        counts.merge("acquisitions", all.acquisitions(), Long::sum);
        return problems;
    }

    private void begin() {
        SimulatedClient client = new SimulatedClient(this, "client-" + ++named, node);
        client.link.faults(randomFaults());
        clients.add(client);
        client.start();
    }

    private LinkFaults randomFaults() {
        return LinkFaults.none()
                .delay(Duration.ofNanos(20_000), Duration.ofNanos(50_000 + world.randomBelow(30_000_000)))
                .loss(world.randomBelow(8) / 100.0)
                .duplication(world.randomBelow(10) / 100.0)
                .reordering(world.randomBelow(20) / 100.0);
    }

    private void harm() {
        world.after(Duration.ofMillis(world.randomBelow(1_500)), () -> {
            if (world.elapsed().compareTo(CHAOS) < 0) {
                harmOnce(clients.get((int) world.randomBelow(clients.size())));
                harm();
            }
        });
    }

    private void harmOnce(SimulatedClient client) {
        Duration while_ = Duration.ofMillis(world.randomBelow(4_000));
        switch ((int) world.randomBelow(12)) {
            case 0, 1 -> {
                count("freeze");
                client.process.freeze(while_);
            }
            case 2 -> {
                if (suspending) {
                    count("suspend");
                    client.process.suspend(while_);
                }
            }
            case 3 -> {
                count("cut");
                client.link.requests().cut();
                world.after(while_, client.link.requests()::heal);
            }
            case 4 -> {
                count("cut replies");
                client.link.replies().cut();
                world.after(while_, client.link.replies()::heal);
            }
            case 5 -> {
                count("stall");
                client.link.requests().stall();
                client.link.replies().stall();
                world.after(while_, client.link.requests()::resume);
                world.after(while_, client.link.replies()::resume);
            }
            case 6 -> {
                count("node frozen");
                host.freeze(while_.dividedBy(3));
            }
            case 7 -> {
                count("refuse");
                client.link.refuseConnections();
                world.after(while_, client.link::acceptConnections);
            }
            case 8 -> {
                if (!suspending) {
                    count("wall clock");
                    client.process.stepWallClock(Duration.ofSeconds(world.randomBelow(7_200) - 3_600));
                }
            }
            case 9 -> {
                count("crash");
                client.process.crash();
                clients.remove(client);
                begin();
            }
            case 10 -> {
                count("other faults");
                client.link.faults(randomFaults());
            }
            default -> {
                if (forcing) {
                    count("forced release");
                    node.forceRelease(lock(world.randomBelow(LOCKS)), null);
                }
            }
        }
    }

    /** Heals everything, lets all clients finish, and looks at what is left. */
    private List<String> calmDown() {
        List<String> problems = new ArrayList<>();
        for (SimulatedClient client : clients) {
            client.link.requests().heal();
            client.link.requests().resume();
            client.link.replies().heal();
            client.link.replies().resume();
            client.link.acceptConnections();
            client.link.faults(LinkFaults.none().delay(Duration.ofNanos(100_000), Duration.ofMillis(1)));
            count(
                    "lost messages",
                    client.link.requests().lost() + client.link.replies().lost());
            count("doubled messages", client.link.requests().duplicated());
            client.stop();
        }
        world.runFor(CALM);
        for (SimulatedClient client : clients) {
            if (client.pending() != 0) {
                problems.add(client.process.name() + " has " + client.pending() + " futures that never completed");
            }
        }
        if (!node.list("*", 10).join().isEmpty()) {
            problems.add("left behind: " + node.list("*", 10).join());
        }
        for (SimulatedClient client : clients) {
            client.locks.close();
        }
        world.runFor(CALM);
        int left = world.pendingEvents();
        if (left != 0) {
            problems.add(left + " timers or messages are left when all clients are closed");
        }
        return problems;
    }

    private void count(String what, long times) {
        if (times > 0) {
            counts.merge(what, times, Long::sum);
        }
    }
}
