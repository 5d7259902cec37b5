package io.leasehold.testkit.engine;

import io.leasehold.Attempt;
import io.leasehold.Backoff;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.spi.LockNode;
import io.leasehold.testkit.history.History;
import io.leasehold.testkit.history.HistoryEvent;
import io.leasehold.testkit.history.OverlapChecker;
import io.leasehold.testkit.history.TokenChecker;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;

/**
 * One random walk: clients with the real engine and the real quorum over simulated servers that forget, stop and are cut
 * off. Afterwards everything heals, and what is left is looked at.
 */
@SuppressWarnings("FutureReturnValueIgnored")
final class QuorumSimulation {

    private static final Duration TTL = Duration.ofSeconds(2);
    private static final Duration CHAOS = Duration.ofSeconds(40);
    private static final Duration CALM = Duration.ofSeconds(60);
    private static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(Duration.ofSeconds(3)).nodeTimeout(Duration.ofMillis(100));

    final VirtualWorld world;
    private final Map<String, Long> counts;
    private final List<SimulatedServer> servers = new ArrayList<>();
    private final List<Client> clients = new ArrayList<>();
    private final List<HistoryEvent> history = new ArrayList<>();
    private int named;

    QuorumSimulation(long seed, int n, Map<String, Long> counts, UnaryOperator<LockNode> variant) {
        this.counts = counts;
        this.world = VirtualWorld.seeded(seed);
        for (int i = 0; i < n; i++) {
            VirtualRuntime host = world.process("node-" + i);
            host.monotonicRate(1.0 + (world.randomBelow(401) - 200) / 100_000.0);
            servers.add(new SimulatedServer(host, variant));
        }
        QuorumStore operator = new QuorumStore(members(servers), SETTINGS, world.process("operator"));
        operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
        operator.close();
    }

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        List<QuorumMember> members = new ArrayList<>();
        for (LockNode node : nodes) {
            members.add(QuorumMember.of(node, node.description()));
        }
        return members;
    }

    private void count(String what) {
        counts.merge(what, 1L, Long::sum);
        world.note(what);
    }

    /** A client process whose tasks acquire, use and give back one of two locks, and write down what they believe. */
    private final class Client {
        private final String name;
        private final double rate;
        private final VirtualRuntime process;
        private final List<FaultyNode> links = new ArrayList<>();
        private final LockClient locks;
        private boolean stopped;
        private int pending;

        Client(String name) {
            this.name = name;
            process = world.process(name);
            rate = 1.0 + (world.randomBelow(401) - 200) / 100_000.0;
            process.monotonicRate(rate);
            for (SimulatedServer server : servers) {
                FaultyNode link = new FaultyNode(server, process, server.host);
                link.faults(randomFaults());
                links.add(link);
            }
            locks = Leasehold.builder()
                    .store(new QuorumStore(members(links), SETTINGS, process))
                    .runtime(process)
                    .label(name)
                    .listener(new Counting())
                    .defaults(LockOptions.defaults()
                            .ttl(TTL)
                            .nodeTimeout(Duration.ofMillis(100))
                            .recheck(Duration.ofMillis(500))
                            .retry(Backoff.exponential(Duration.ofMillis(5), Duration.ofMillis(300))))
                    .connect();
        }

        void next() {
            if (stopped) {
                return;
            }
            Duration patience = Duration.ofMillis(world.chance(0.2) ? 0 : world.randomBelow(5_000));
            CompletableFuture<Attempt<Lease>> future =
                    locks.named(lock(world.randomBelow(2))).attemptAsync(patience);
            pending++;
            if (world.chance(0.1)) {
                process.schedule(world.randomBelow(20_000_000), () -> future.cancel(false));
            }
            future.whenComplete((attempt, error) -> {
                pending--;
                if (attempt instanceof Attempt.Acquired<Lease> acquired) {
                    hold(acquired.lease());
                } else {
                    process.schedule(1 + world.randomBelow(200_000_000), this::next);
                }
            });
        }

        private void hold(Lease lease) {
            long at = world.elapsedNanos();
            history.add(new HistoryEvent.Acquired(
                    at, name, lease.lockName().text(), lease.fencingToken(), at + believed(lease)));
            world.note(name + " acquired " + lease.lockName() + " " + lease.fencingToken());
            lease.onLost(cause -> world.note(name + " lost " + lease.fencingToken() + " " + cause));
            long holdFor = world.chance(0.3) ? 8_000_000_000L : 300_000_000L;
            long steps = 1 + world.randomBelow(6);
            use(lease, steps, world.randomBelow(holdFor) / steps);
        }

        private void use(Lease lease, long steps, long stepNanos) {
            long at = world.elapsedNanos();
            long believed = believed(lease);
            String lock = lease.lockName().text();
            if (believed > 0) {
                history.add(new HistoryEvent.Extended(at, name, lock, lease.fencingToken(), at + believed));
            }
            if (steps > 0 && believed > 0) {
                process.schedule(1 + stepNanos, () -> use(lease, steps - 1, stepNanos));
                return;
            }
            history.add(
                    new HistoryEvent.Ended(at, name, lock, lease.fencingToken(), believed > 0 ? "released" : "lost"));
            pending++;
            lease.releaseAsync().whenComplete((outcome, error) -> {
                pending--;
                process.schedule(1 + world.randomBelow(50_000_000), this::next);
            });
        }

        private long believed(Lease lease) {
            return (long) (lease.remainingValidity().toNanos() / rate);
        }
    }

    private final class Counting implements LockListener {
        @Override
        public void attemptEnded(AttemptEnded event) {
            count("attempt " + event.outcome());
        }

        @Override
        public void renewed(Renewed event) {
            count("renewal " + event.outcome());
        }

        @Override
        public void atRisk(AtRisk event) {
            count("at risk");
        }

        @Override
        public void lost(Lost event) {
            count("lost " + event.cause());
        }

        @Override
        public void released(Released event) {
            count("release " + event.outcome());
        }
    }

    private static LockName lock(long number) {
        return LockName.exactly("lock-" + number);
    }

    private LinkFaults randomFaults() {
        return LinkFaults.none()
                .delay(Duration.ofNanos(20_000), Duration.ofNanos(50_000 + world.randomBelow(25_000_000)))
                .loss(world.randomBelow(6) / 100.0)
                .duplication(world.randomBelow(10) / 100.0)
                .reordering(world.randomBelow(20) / 100.0);
    }

    /** What went wrong, in words; empty if nothing did. */
    List<String> run() {
        for (int i = 0; i < 3; i++) {
            begin();
        }
        harm();
        world.runFor(CHAOS);
        List<String> problems = calmDown();
        servers.forEach(server -> problems.addAll(server.zombies));
        History all = History.of(history);
        OverlapChecker.check(all).forEach(v -> problems.add("overlap: " + v));
        TokenChecker.check(all).forEach(v -> problems.add("token: " + v));
        counts.merge("acquisitions", all.acquisitions(), Long::sum);
        return problems;
    }

    private void begin() {
        Client client = new Client("client-" + ++named);
        clients.add(client);
        for (long tasks = 1 + world.randomBelow(2); tasks > 0; tasks--) {
            client.process.execute(client::next);
        }
    }

    private void harm() {
        world.after(Duration.ofMillis(world.randomBelow(1_500)), () -> {
            if (world.elapsed().compareTo(CHAOS) < 0) {
                harmOnce(clients.get((int) world.randomBelow(clients.size())));
                harm();
            }
        });
    }

    private void harmOnce(Client client) {
        Duration while_ = Duration.ofMillis(world.randomBelow(4_000));
        int node = (int) world.randomBelow(servers.size());
        SimulatedServer server = servers.get(node);
        FaultyNode link = client.links.get(node);
        switch ((int) world.randomBelow(12)) {
            case 0 -> {
                count("freeze");
                client.process.freeze(while_);
            }
            case 1 -> {
                count("crash");
                client.process.crash();
                clients.remove(client);
                begin();
            }
            case 2, 3, 4 -> {
                count("forget");
                server.forget();
            }
            case 5 -> {
                count("node frozen");
                server.host.freeze(while_);
            }
            case 6 -> {
                count("cut");
                link.requests().cut();
                world.after(while_, link.requests()::heal);
            }
            case 7 -> {
                count("cut replies");
                link.replies().cut();
                world.after(while_, link.replies()::heal);
            }
            case 8 -> {
                count("stall");
                link.requests().stall();
                world.after(while_, link.requests()::resume);
            }
            case 9 -> {
                count("partition");
                int away = 1 + (int) world.randomBelow(servers.size() - 1);
                for (FaultyNode other : client.links.subList(0, away)) {
                    other.requests().cut();
                    world.after(while_, other.requests()::heal);
                }
            }
            case 10 -> {
                count("wall clock");
                client.process.stepWallClock(Duration.ofSeconds(world.randomBelow(7_200) - 3_600));
            }
            default -> {
                count("other faults");
                link.faults(randomFaults());
            }
        }
    }

    private List<String> calmDown() {
        List<String> problems = new ArrayList<>();
        for (Client client : clients) {
            for (FaultyNode link : client.links) {
                link.requests().heal();
                link.requests().resume();
                link.replies().heal();
                link.replies().resume();
                link.faults(LinkFaults.none().delay(Duration.ofNanos(100_000), Duration.ofMillis(1)));
                counts.merge(
                        "lost messages", link.requests().lost() + link.replies().lost(), Long::sum);
                counts.merge("doubled messages", link.requests().duplicated(), Long::sum);
            }
            client.stopped = true;
        }
        world.runFor(CALM);
        for (Client client : clients) {
            if (client.pending != 0) {
                problems.add(client.name + " has " + client.pending + " futures that never completed");
            }
        }
        for (SimulatedServer server : servers) {
            if (!server.list("*", 10).join().isEmpty()) {
                problems.add("left behind at " + server.description() + ": "
                        + server.list("*", 10).join());
            }
        }
        takesAtOnce(problems);
        for (Client client : clients) {
            client.locks.close();
        }
        world.runFor(CALM);
        int left = world.pendingEvents();
        if (left != 0) {
            problems.add(left + " timers or messages are left when all clients are closed");
        }
        return problems;
    }

    /** All is calm: whoever asks gets the lock. */
    private void takesAtOnce(List<String> problems) {
        Client client = clients.get(0);
        CompletableFuture<Attempt<Lease>> taken = client.locks.named(lock(0)).attemptAsync(Duration.ofSeconds(5));
        world.runUntil(taken::isDone, Duration.ofSeconds(6));
        Lease lease = taken.isDone() && !taken.isCompletedExceptionally()
                ? taken.join().orElseNull()
                : null;
        if (lease == null) {
            problems.add("a free lock is not granted when all is calm: " + taken);
        } else {
            lease.releaseAsync();
        }
        world.runFor(Duration.ofSeconds(1));
    }
}
