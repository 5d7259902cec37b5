package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.node.LockNode;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the world, its processes, and their faults. */
final class Simulation implements Cluster.Population {

    private static final List<LockName> LOCKS = List.of(lock(0), lock(1), lock(2));

    final VirtualWorld world;
    final RunLog log;
    final List<SimulatedNode> nodes;
    final List<SimulatedClient> clients = new ArrayList<>();
    final SimulatedResource resource;
    final Waits waits;
    final Habits habits;
    private final SimulationPlan plan;
    private final Cluster cluster;

    Simulation(SimulationPlan plan, UnaryOperator<LockNode> variant, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.habits = Habits.ofSeed(plan.seed());
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.log = new RunLog(world);
        this.cluster = new Cluster(plan, world, log);
        this.nodes = cluster.nodes;
        // Not while nodes are in quarantine, or excluded.
        boolean promisesProgress = plan.promisesOrder() && !(plan.nodes() > 1 && plan.forgets());
        this.waits = new Waits(world, log, this::isIdle, cluster::calmFromNanos, promisesProgress);
        this.resource = new SimulatedResource(world.process("resource"), log.history);
        cluster.startNodes(variant);
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        cluster.schedule(this);
    }

    static LockName lock(long number) {
        return LockName.exactly("lock-" + number);
    }

    /** Checks {@code Win} of the model: a quorum has granted each token that a holder receives to this owner token. */
    void mustHaveBeenWon(LockName name, long token, @Nullable OwnerToken owner) {
        if (owner == null) {
            return;
        }
        long votes = nodes.stream()
                .filter(node -> node.everGranted(name, token, owner))
                .count();
        if (votes <= nodes.size() / 2) {
            log.problem("win: " + name + " was shown with token " + token + ", which only " + votes + " of "
                    + nodes.size() + " nodes granted, at " + world.elapsed());
        }
    }

    /** Checks that a quorum keeps a lease as long as its holder believes in it. */
    void mustBeKept(LockName name, @Nullable OwnerToken owner, long until, long nowNanos) {
        if (owner == null || until <= nowNanos || !plan.promisesExclusion()) {
            return;
        }
        long keeping = nodes.stream()
                .filter(node -> node.keepsUntil(name, owner, until))
                .count();
        if (keeping <= nodes.size() / 2) {
            log.problem(
                    "validity: " + name + " is believed in for " + Duration.ofNanos(until - nowNanos) + ", and only "
                            + keeping + " of " + nodes.size() + " nodes keep it for as long, at " + world.elapsed());
        }
    }

    /** Draws whether a machine falls asleep when several locks have just been requested. */
    boolean fallsAsleep() {
        if (cluster.isCalm() || !cluster.mayPauseAsleep() || world.randomBelow(100) >= 20) {
            return false;
        }
        log.saw(Fault.CLIENT_SUSPEND);
        return true;
    }

    boolean isSkewed() {
        return cluster.isSkewed();
    }

    Pauses pausesOf(VirtualRuntime process) {
        return new Pauses(cluster, log, process);
    }

    /** Whether a client waits only for this lock, and no client holds it. */
    private boolean isIdle(LockName name) {
        return clients.stream().anyMatch(client -> client.wants(name))
                && clients.stream().noneMatch(client -> client.store.has(name));
    }

    private void begin() {
        VirtualRuntime process = cluster.startClient();
        List<FaultyNode> links = cluster.connect(process);
        SimulatedClient client = new SimulatedClient(this, process, links, watched -> Cluster.store(watched, process));
        links.forEach(link -> link.pauses(client.pauses::pauseNanos));
        clients.add(client);
        client.start(plan.tasks());
    }

    /** Draws a pause at a yield point: short ones often, some of them longer than a ttl. */
    long pauseNanos(YieldPoint point) {
        return cluster.pauseNanos(point);
    }

    @Override
    public List<SimulatedClient> clients() {
        return clients;
    }

    @Override
    public void replace(Cluster.ClientProcess crashed) {
        clients.removeIf(client -> client == crashed);
        LOCKS.forEach(waits::changed);
        begin();
    }

    @Override
    public void forceRelease(SimulatedNode node, int which) {
        LockName lock = lock(which % 3);
        log.history.add(new HistoryEvent.Forced(world.elapsedNanos(), "operator", lock.text()));
        node.admin().forceRelease(lock, null);
    }

    /** Runs the plan, and judges what happened. */
    SimulationResult run() {
        world.runFor(Duration.ofMillis(plan.chaosMillis()));
        cluster.heal(this);
        Aftermath.check(this, plan);
        cluster.countPackets();
        long modelSteps = nodes.stream().mapToLong(SimulatedNode::modelSteps).sum();
        log.counts.saw("steps compared with the model", modelSteps);
        log.counts.saw("traces compared with the model", modelSteps > 0 ? 1 : 0);
        History all = History.of(log.history);
        Judgement.of(plan, all, log.counts, log.problems);
        return new SimulationResult(
                plan,
                log.problems,
                log.counts.faults(),
                log.counts.events(),
                all,
                world.elapsed(),
                world.eventsRun(),
                world.traceHash());
    }
}
