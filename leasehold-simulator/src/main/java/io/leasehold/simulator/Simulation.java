package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.FaultyNode;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.PausePlan.YieldPoint;
import io.leasehold.testkit.virtual.VirtualLink;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the world, its processes, and their faults. */
final class Simulation {

    private static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(Duration.ofSeconds(3)).nodeTimeout(ClientOptions.NODE_TIMEOUT);

    private static final List<LockName> LOCKS = List.of(lock(0), lock(1), lock(2));

    private static final LinkFaults CALM = LinkFaults.none().delay(Duration.ofNanos(100_000), Duration.ofMillis(1));

    final VirtualWorld world;
    final RunLog log;
    final List<SimulatedNode> nodes = new ArrayList<>();
    final List<SimulatedClient> clients = new ArrayList<>();
    final SimulatedResource resource;
    final Waits waits;
    final Habits habits;
    private final SimulationPlan plan;
    private final boolean mayPauseAsleep;
    private final List<FaultyNode> everyLink = new ArrayList<>();
    private boolean calm;
    /** From then on no process pauses. */
    private long disturbedUntilNanos;

    private int named;

    Simulation(SimulationPlan plan, UnaryOperator<LockNode> variant, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.habits = Habits.ofSeed(plan.seed());
        this.mayPauseAsleep = plan.harms().stream().anyMatch(harm -> harm.fault() == Fault.CLIENT_SUSPEND);
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.log = new RunLog(world);
        // Not while nodes are in quarantine, or excluded.
        boolean promisesProgress = plan.promisesOrder() && !(plan.nodes() > 1 && plan.forgets());
        this.waits = new Waits(world, log, this::isIdle, this::calmFromNanos, promisesProgress);
        this.resource = new SimulatedResource(world.process("resource"), log.history);
        for (int i = 0; i < plan.nodes(); i++) {
            VirtualRuntime host = world.process("node-" + i);
            runWrong(host, Fault.NODE_CLOCK_LINEAR, Fault.NODE_CLOCK_PERIODIC);
            nodes.add(new SimulatedNode(host, variant, plan.lags(i), log::problem));
        }
        if (plan.nodes() > 1) {
            QuorumStore operator = new QuorumStore(members(nodes), SETTINGS, world.process("operator"));
            operator.declareNew(Duration.ofSeconds(1).toNanos()).join();
            operator.close();
        }
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        for (Harm harm : plan.harms()) {
            world.after(Duration.ofMillis(harm.atMillis()), () -> {
                if (!calm) {
                    inflict(harm);
                }
            });
        }
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

    /** Whether pauses at yield points may be sleeps of the machine. */
    boolean mayPauseAsleep() {
        return mayPauseAsleep;
    }

    /** Draws whether a machine falls asleep when several locks have just been requested. */
    boolean fallsAsleep() {
        if (calm || !mayPauseAsleep || world.randomBelow(100) >= 20) {
            return false;
        }
        log.saw(Fault.CLIENT_SUSPEND);
        return true;
    }

    /** Records a pause of a process. */
    void disturbedFor(Duration span) {
        disturbedUntilNanos = Math.max(disturbedUntilNanos, world.elapsedNanos() + span.toNanos());
    }

    /** The end of the last fault; far in the future while faults continue. */
    private long calmFromNanos() {
        return calm ? disturbedUntilNanos : Long.MAX_VALUE / 2;
    }

    /** Whether a client waits only for this lock, and no client holds it. */
    private boolean isIdle(LockName name) {
        return clients.stream().anyMatch(client -> client.wants(name))
                && clients.stream().noneMatch(client -> client.store.has(name));
    }

    private static List<QuorumMember> members(List<? extends LockNode> nodes) {
        List<QuorumMember> members = new ArrayList<>();
        for (LockNode node : nodes) {
            members.add(QuorumMember.of(node, node.description()));
        }
        return members;
    }

    /** Sets a wrong rate and, for a part of the error, a wave around it. */
    private void runWrong(VirtualRuntime process, Fault linear, Fault periodic) {
        long most = plan.driftPartsPerMillion();
        if (most == 0) {
            return;
        }
        long wave = world.chance(0.5) ? most / 3 : 0;
        process.monotonicClock(new ClockShape.Linear(
                1.0 + (world.randomBelow(2 * (most - wave) + 1) - (most - wave)) / 1e6));
        log.counts.saw(linear);
        if (wave > 0) {
            long periodNanos = 1_000_000_000L + world.randomBelow(9_000_000_000L);
            process.monotonicClock(new ClockShape.Periodic(
                    Duration.ofNanos((long) (periodNanos / 2.0 * wave / 1e6)), Duration.ofNanos(periodNanos)));
            log.counts.saw(periodic);
        }
    }

    private void begin() {
        VirtualRuntime process = world.process("client-" + ++named);
        runWrong(process, Fault.CLIENT_CLOCK_LINEAR, Fault.CLIENT_CLOCK_PERIODIC);
        List<FaultyNode> links = new ArrayList<>();
        for (SimulatedNode node : nodes) {
            FaultyNode link = new FaultyNode(node, process, node.host());
            link.faults(calm ? CALM : drawnFaults());
            links.add(link);
            everyLink.add(link);
        }
        SimulatedClient client = new SimulatedClient(
                this,
                process,
                links,
                watched -> watched.size() == 1
                        ? new SingleNodeStore(watched.get(0), process)
                        : new QuorumStore(members(watched), SETTINGS, process));
        links.forEach(link -> link.pauses(client::pauseNanos));
        clients.add(client);
        client.start(plan.tasks());
    }

    private LinkFaults drawnFaults() {
        int bad = plan.network();
        if (bad == 0) {
            return CALM;
        }
        return LinkFaults.none()
                .delay(Duration.ofNanos(20_000), Duration.ofNanos(50_000 + world.randomBelow(3_000_000L * bad)))
                .loss(world.randomBelow(bad) / 100.0)
                .duplication(world.randomBelow(bad) / 100.0)
                .reordering(2 * world.randomBelow(bad) / 100.0)
                .resetAfterSend(world.randomBelow(bad) / 200.0)
                .lateReply(world.randomBelow(bad) / 200.0);
    }

    /** Draws a pause at a yield point: short ones often, some of them longer than a ttl. */
    long pauseNanos(YieldPoint point) {
        if (calm || plan.pauses() == 0 || world.randomBelow(10_000) >= plan.pauses()) {
            return 0;
        }
        log.saw(
                switch (point) {
                    case BEFORE_SEND -> Fault.PAUSE_BEFORE_SEND;
                    case AFTER_REPLY -> Fault.PAUSE_AFTER_REPLY;
                    case BEFORE_USE -> Fault.PAUSE_BEFORE_USE;
                    case IN_RENEWAL -> Fault.PAUSE_IN_RENEWAL;
                });
        return 1 + world.randomBelow(world.chance(0.5) ? 50_000_000L : 4_000_000_000L);
    }

    private void inflict(Harm harm) {
        SimulatedNode node = nodes.get(harm.node());
        SimulatedClient client = clients.get(harm.client() % clients.size());
        FaultyNode link = client.links.get(harm.node());
        Duration span = Duration.ofMillis(harm.millis());
        disturbedFor(span);
        log.saw(harm.fault());
        switch (harm.fault()) {
            case CUT_REQUESTS -> cut(link.requests(), span);
            case CUT_REPLIES -> cut(link.replies(), span);
            case STALL -> {
                stall(link.requests(), span);
                stall(link.replies(), span);
            }
            case REFUSE -> {
                link.refuseConnections();
                world.after(span, link::acceptConnections);
            }
            case PARTITION -> {
                int away = 1 + harm.writes() % Math.max(1, nodes.size() - 1);
                for (int i = 0; i < away; i++) {
                    cut(client.links.get((harm.node() + i) % nodes.size()).requests(), span);
                }
            }
            case CLIENT_FREEZE -> client.freeze(span);
            case CLIENT_SUSPEND -> client.sleep(span);
            case CLIENT_CRASH -> {
                client.process.crash();
                clients.remove(client);
                LOCKS.forEach(waits::changed);
                begin();
            }
            case CLIENT_WALL_STEP ->
                client.process.wallClock(
                        new ClockShape.Step(span.minusSeconds(4).multipliedBy(900)));
            case NODE_CLOCK_STEP -> node.stepClock(harm.writes() % 2 == 0 ? span : span.negated());
            case NODE_FREEZE -> node.host().freeze(span.dividedBy(3));
            case NODE_CRASH_KEEPS -> node.crash(span);
            case NODE_CRASH_LOSES_ALL -> node.crashAndLoseAll(span);
            case NODE_CRASH_LOSES_LAST -> node.crashAndLoseLast(harm.writes(), span);
            case NODE_FAIL_OVER -> node.failOver(harm.writes());
            case FORCED_RELEASE -> forceRelease(node, lock(harm.writes() % 3));
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    private void forceRelease(SimulatedNode node, LockName lock) {
        log.history.add(new HistoryEvent.Forced(world.elapsedNanos(), "operator", lock.text()));
        node.admin().forceRelease(lock, null);
    }

    private void cut(VirtualLink link, Duration span) {
        link.cut();
        world.after(span, link::heal);
    }

    private void stall(VirtualLink link, Duration span) {
        link.stall();
        world.after(span, link::resume);
    }

    /** Runs the plan, and judges what happened. */
    SimulationResult run() {
        world.runFor(Duration.ofMillis(plan.chaosMillis()));
        heal();
        Aftermath.check(this, plan);
        countPackets();
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

    private void heal() {
        calm = true;
        disturbedFor(Duration.ZERO);
        nodes.forEach(SimulatedNode::correctClock);
        for (SimulatedClient client : clients) {
            for (FaultyNode link : client.links) {
                link.requests().heal();
                link.requests().resume();
                link.replies().heal();
                link.replies().resume();
                link.acceptConnections();
                link.faults(CALM);
            }
            client.stop();
        }
    }

    private void countPackets() {
        for (FaultyNode link : everyLink) {
            for (VirtualLink way : List.of(link.requests(), link.replies())) {
                log.counts.saw(Fault.DELAY, way.sent() - way.lost());
                log.counts.saw(Fault.LOSS, way.lost());
                log.counts.saw(Fault.DUPLICATION, way.duplicated());
                log.counts.saw(Fault.REORDERING, way.reordered());
            }
            log.counts.saw(Fault.RESET_AFTER_SEND, link.reset());
            log.counts.saw(Fault.LATE_REPLY, link.late());
        }
    }
}
