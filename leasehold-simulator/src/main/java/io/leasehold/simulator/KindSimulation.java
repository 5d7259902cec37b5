package io.leasehold.simulator;

import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.node.LockNode;
import io.leasehold.simulator.history.History;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One run of a plan whose clients hold leases of another kind than exclusive locks. */
final class KindSimulation implements Cluster.Population {

    static final LockName NAME = LockName.exactly("kind");

    /** Longer than the longest hold, claim, patience, quarantine and undo. */
    private static final Duration CALM = Duration.ofSeconds(20);

    /** As in {@link Aftermath}. */
    private static final Duration SET_BACK = Duration.ofSeconds(60);

    private static final Duration TURNS = Duration.ofSeconds(60);
    /** As in {@link Aftermath}. */
    private static final Duration SETTLING = Duration.ofSeconds(15);

    /** A ticket that was issued. */
    static final class Issued {
        final LeaseTicket ticket;
        final long exportedToken;
        int resumed;

        Issued(LeaseTicket ticket, long exportedToken) {
            this.ticket = ticket;
            this.exportedToken = exportedToken;
        }
    }

    final LeaseKind kind;
    final VirtualWorld world;
    final RunLog log;
    final KindSpans spans;
    /** The resource, which registers the token at first contact. */
    final FencingGuard resource = FencingGuard.inMemory();

    final List<Issued> tickets = new ArrayList<>();
    /** The number of permits. */
    final int count;

    private final SimulationPlan plan;
    private final Cluster cluster;
    private final List<KindClient> clients = new ArrayList<>();

    KindSimulation(
            LeaseKind kind, SimulationPlan plan, UnaryOperator<LockNode> variant, @Nullable Consumer<String> trace) {
        this.kind = kind;
        this.plan = plan;
        this.count = new int[] {1, 2, 5}[(int) Math.floorMod(plan.seed(), 3L)];
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.log = new RunLog(world);
        this.spans = new KindSpans(log);
        this.cluster = new Cluster(plan, world, log);
        cluster.startNodes(variant);
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        cluster.schedule(this);
    }

    private void begin() {
        VirtualRuntime process = cluster.startClient();
        List<FaultyNode> links = cluster.connect(process);
        Pauses pauses = new Pauses(cluster, log, process);
        links.forEach(link -> link.pauses(pauses::pauseNanos));
        KindClient client = new KindClient(this, process, links, pauses);
        clients.add(client);
        client.start(1 + plan.tasks());
    }

    boolean promisesExclusion() {
        return plan.promisesExclusion();
    }

    @Override
    public List<KindClient> clients() {
        return clients;
    }

    @Override
    public void replace(Cluster.ClientProcess crashed) {
        clients.removeIf(client -> client == crashed);
        begin();
    }

    @Override
    public void forceRelease(SimulatedNode node, int which) {
        LockName lock = kind == LeaseKind.PERMITS
                ? LockName.exactly(NAME.text() + "#" + which % count)
                : kind == LeaseKind.READERS && which % 2 == 0 ? NAME.asRead() : NAME;
        spans.forced(lock.text(), world.elapsedNanos());
        node.admin().forceRelease(lock, null);
    }

    /** Runs the plan, and judges what happened. */
    SimulationResult run() {
        world.runFor(Duration.ofMillis(plan.chaosMillis()));
        cluster.heal(this);
        world.runFor(CALM);
        world.runUntil(() -> clients.stream().allMatch(KindClient::isIdle), TURNS);
        for (KindClient client : clients) {
            if (!client.isIdle()) {
                log.problem("liveness: " + client.process().name() + " has futures that never completed");
            }
        }
        // A clock that was set back may keep the key of a killed client for longer.
        world.runUntil(() -> left().isEmpty(), SET_BACK);
        left().forEach(what -> log.problem("orphan: left behind: " + what));
        if (cluster.isSkewed()) {
            log.counts.saw("clocks too far apart");
        } else {
            requireProgress();
        }
        clients.forEach(KindClient::close);
        world.runFor(Duration.ofSeconds(10));
        int left = world.pendingEvents();
        if (left != 0) {
            log.problem("orphan: " + left + " timers or messages are left when all clients are closed");
        }
        spans.judge(plan);
        judgeTickets();
        cluster.countPackets();
        return new SimulationResult(
                plan,
                log.problems,
                log.counts.faults(),
                log.counts.events(),
                History.of(log.history),
                world.elapsed(),
                world.eventsRun(),
                world.traceHash());
    }

    /** The entries that the nodes still keep for holders and waiters. */
    private List<String> left() {
        List<String> left = new ArrayList<>();
        for (SimulatedNode node : cluster.nodes) {
            node.list("*", 10).join().forEach(held -> left.add(node.description() + " " + held));
            node.readers(NAME, 10).join().forEach(reader -> left.add(node.description() + " " + reader));
            node.waiters(NAME, 10).join().forEach(waiter -> left.add(node.description() + " " + waiter));
            node.permits()
                    .ifPresent(permits -> permits.list("*", 10).join().stream()
                            .filter(status -> !status.held().isEmpty())
                            .forEach(status -> left.add(node.description() + " " + status)));
        }
        return left;
    }

    /** Each client is granted a lease again, and releases it. */
    private void requireProgress() {
        for (KindClient client : clients) {
            if (!client.takesAndReleases(SETTLING)) {
                log.problem("liveness: a free lease is not granted when all is calm");
            }
            world.runFor(Duration.ofSeconds(5));
        }
    }

    private void judgeTickets() {
        for (Issued one : tickets) {
            if (one.resumed > 1 && plan.promisesExclusion()) {
                log.problem(
                        "ticket: the ticket of token " + one.exportedToken + " was resumed " + one.resumed + " times");
            }
        }
        log.counts.saw("tickets", tickets.size());
    }

    /** Checks a lease that was resumed. */
    void resumed(Issued one, long token) {
        one.resumed++;
        log.counts.saw("tickets resumed");
        KindSpans.Span other = spans.between(NAME.text(), one.exportedToken, token);
        if (plan.promisesExclusion() && other != null) {
            log.problem("ticket: " + other + ", between the export of " + one.exportedToken + " and its resume as "
                    + token);
        }
    }
}
