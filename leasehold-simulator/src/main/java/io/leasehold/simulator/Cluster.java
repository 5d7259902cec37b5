package io.leasehold.simulator;

import io.leasehold.node.LockNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.quorum.QuorumMember;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.quorum.QuorumStore;
import io.leasehold.spi.LockStore;
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
import java.util.function.UnaryOperator;

/** The nodes of a plan, the links of its clients to them, and the faults of both. */
final class Cluster {

    private static final QuorumSettings SETTINGS =
            QuorumSettings.standard().maxTtl(Duration.ofSeconds(3)).nodeTimeout(ClientOptions.NODE_TIMEOUT);

    /** Half of the bound of the ballots, and less by a long delay, by which a clock seems to be further away. */
    private static final long MAX_SKEW_MICROS = 3_000_000L / 4 / 2 - 60_000L;

    private static final LinkFaults CALM = LinkFaults.none().delay(Duration.ofNanos(100_000), Duration.ofMillis(1));

    /** A process with a client. */
    interface ClientProcess {
        VirtualRuntime process();

        /** Its links, one for each node. */
        List<FaultyNode> links();

        /** Pauses for this time. */
        void freeze(Duration span);

        /** Lets its machine sleep for this time. */
        void sleep(Duration span);

        /** Stops new attempts. */
        void stop();
    }

    /** The clients, as far as faults concern them. */
    interface Population {
        List<? extends ClientProcess> clients();

        /** Replaces a client that was killed. */
        void replace(ClientProcess crashed);

        /** Releases a lock by force at a node. */
        void forceRelease(SimulatedNode node, int which);
    }

    final List<SimulatedNode> nodes = new ArrayList<>();
    private final SimulationPlan plan;
    private final VirtualWorld world;
    private final RunLog log;
    private final boolean mayPauseAsleep;
    private final List<FaultyNode> everyLink = new ArrayList<>();
    private boolean calm;
    /** From then on no process pauses. */
    private long disturbedUntilNanos;

    private int named;

    Cluster(SimulationPlan plan, VirtualWorld world, RunLog log) {
        this.plan = plan;
        this.world = world;
        this.log = log;
        this.mayPauseAsleep = plan.harms().stream().anyMatch(harm -> harm.fault() == Fault.CLIENT_SUSPEND);
    }

    /** Starts the nodes; each life of each of them is wrapped by the variant. */
    void startNodes(UnaryOperator<LockNode> variant) {
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
    }

    /** Starts a process for a client. */
    VirtualRuntime startClient() {
        VirtualRuntime process = world.process("client-" + ++named);
        runWrong(process, Fault.CLIENT_CLOCK_LINEAR, Fault.CLIENT_CLOCK_PERIODIC);
        return process;
    }

    /** Connects a process to each node. */
    List<FaultyNode> connect(VirtualRuntime process) {
        List<FaultyNode> links = new ArrayList<>();
        for (SimulatedNode node : nodes) {
            FaultyNode link = new FaultyNode(node, process, node.host());
            link.faults(calm ? CALM : drawnFaults());
            links.add(link);
            everyLink.add(link);
        }
        return links;
    }

    /** The store of a client over its links. */
    static LockStore store(List<? extends LockNode> links, VirtualRuntime process) {
        return links.size() == 1
                ? new SingleNodeStore(links.get(0), process)
                : new QuorumStore(members(links), SETTINGS, process);
    }

    /** Lets the faults of the plan happen at their times, until the calm. */
    void schedule(Population population) {
        for (Harm harm : plan.harms()) {
            world.after(Duration.ofMillis(harm.atMillis()), () -> {
                if (!calm) {
                    inflict(harm, population);
                }
            });
        }
    }

    /** Whether pauses at yield points may be sleeps of the machine. */
    boolean mayPauseAsleep() {
        return mayPauseAsleep;
    }

    boolean isCalm() {
        return calm;
    }

    /**
     * Whether clients of a quorum exclude nodes for their clocks, which nothing corrects here: they run away from each
     * other by up to 1 % of the time.
     */
    boolean isSkewed() {
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        for (SimulatedNode node : nodes) {
            first = Math.min(first, node.micros());
            last = Math.max(last, node.micros());
        }
        return last - first > MAX_SKEW_MICROS;
    }

    /** Records a pause of a process. */
    void disturbedFor(Duration span) {
        disturbedUntilNanos = Math.max(disturbedUntilNanos, world.elapsedNanos() + span.toNanos());
    }

    /** The end of the last fault; far in the future while faults continue. */
    long calmFromNanos() {
        return calm ? disturbedUntilNanos : Long.MAX_VALUE / 2;
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

    private void inflict(Harm harm, Population population) {
        SimulatedNode node = nodes.get(harm.node());
        ClientProcess client =
                population.clients().get(harm.client() % population.clients().size());
        FaultyNode link = client.links().get(harm.node());
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
                    cut(client.links().get((harm.node() + i) % nodes.size()).requests(), span);
                }
            }
            case CLIENT_FREEZE -> client.freeze(span);
            case CLIENT_SUSPEND -> client.sleep(span);
            case CLIENT_CRASH -> {
                client.process().crash();
                population.replace(client);
            }
            case CLIENT_WALL_STEP ->
                client.process()
                        .wallClock(new ClockShape.Step(span.minusSeconds(4).multipliedBy(900)));
            case NODE_CLOCK_STEP -> node.stepClock(harm.writes() % 2 == 0 ? span : span.negated());
            case NODE_FREEZE -> node.host().freeze(span.dividedBy(3));
            case NODE_CRASH_KEEPS -> node.crash(span);
            case NODE_CRASH_LOSES_ALL -> node.crashAndLoseAll(span);
            case NODE_CRASH_LOSES_LAST -> node.crashAndLoseLast(harm.writes(), span);
            case NODE_FAIL_OVER -> node.failOver(harm.writes());
            case FORCED_RELEASE -> population.forceRelease(node, harm.writes());
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    private void cut(VirtualLink link, Duration span) {
        link.cut();
        world.after(span, link::heal);
    }

    private void stall(VirtualLink link, Duration span) {
        link.stall();
        world.after(span, link::resume);
    }

    /** Ends the faults, and stops new attempts. */
    void heal(Population population) {
        calm = true;
        disturbedFor(Duration.ZERO);
        nodes.forEach(SimulatedNode::correctClock);
        for (ClientProcess client : population.clients()) {
            for (FaultyNode link : client.links()) {
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

    void countPackets() {
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
