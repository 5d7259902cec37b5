package io.leasehold.verify.queue;

import io.leasehold.LockListener;
import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.LostUpdateChecker;
import io.leasehold.simulator.history.OverlapChecker;
import io.leasehold.simulator.history.TokenChecker;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import io.leasehold.verify.sql.SqlResource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One run of a plan: the world, the cluster, its clients, and what is done to them. */
public final class QueueSimulation {

    private static final LinkFaults CALM = LinkFaults.none().delay(Duration.ofNanos(50_000), Duration.ofNanos(500_000));

    final QueuePlan plan;
    final QueueModel model;
    final List<HistoryEvent> history = new ArrayList<>(512);
    final List<QueueClient> clients = new ArrayList<>();
    final SqlResource resource;
    private final VirtualWorld world;
    private final VirtualRuntime host;
    private final List<QueueClient> all = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private final Map<QueueFault, Long> faults = new EnumMap<>(QueueFault.class);
    private final Map<String, Long> events = new TreeMap<>();
    private final Map<String, Long> withdrawnAt = new HashMap<>();
    private boolean calm;
    private int named;

    /**
     * What came of a run.
     *
     * @param problems what must not have happened, in words that begin with its kind
     */
    record Result(
            QueuePlan plan,
            List<String> problems,
            Map<QueueFault, Long> faults,
            Map<String, Long> events,
            History history,
            long traceHash) {
        String kind() {
            return problems.isEmpty() ? "" : problems.get(0).replaceAll(":.*", "");
        }
    }

    QueueSimulation(QueuePlan plan, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.resource = new SqlResource(world, history);
        this.host = world.process("cluster");
        runWrong(host, QueueFault.CLUSTER_CLOCK_RATE);
        this.model = plan.kind().model(this);
        for (int i = 0; i < plan.clients(); i++) {
            begin();
        }
        for (QueuePlan.Harm harm : plan.harms()) {
            world.after(Duration.ofMillis(harm.atMillis()), () -> {
                if (!calm) {
                    inflict(harm);
                }
            });
        }
    }

    /** The world. */
    public VirtualWorld world() {
        return world;
    }

    /** The process that the cluster is. */
    public VirtualRuntime host() {
        return host;
    }

    /** Something must not have happened. */
    public void problem(String what) {
        problems.add(what + ", at " + world.elapsed());
        world.note("PROBLEM " + what);
    }

    /** A fault has happened. */
    public void saw(QueueFault fault) {
        faults.merge(fault, 1L, Long::sum);
        world.note(fault.name());
    }

    void saw(String event, long times) {
        if (times > 0) {
            events.merge(event, times, Long::sum);
        }
    }

    /** Whether faults happen. */
    public boolean isCalm() {
        return calm;
    }

    static String lock(long number) {
        return "lock-" + number;
    }

    // ---- what is promised

    /** A holder does not believe for longer than the cluster keeps its entry. */
    void mustKeep(String lock, long token, long untilNanos) {
        if (!plan.promisesExclusion() || untilNanos <= world.elapsedNanos()) {
            return;
        }
        OptionalLong kept = model.keptUntilNanos(lock, token);
        if (kept.isEmpty() || kept.getAsLong() + 2_000 < untilNanos) {
            problem("validity: token " + token + " of " + lock + " is believed in until " + untilNanos / 1e9
                    + ", and the cluster keeps it until "
                    + (kept.isEmpty() ? "before" : "" + kept.getAsLong() / 1e9));
        }
    }

    /** The cluster was told to end all that this owner token has, and has done so. */
    void withdrawn(OwnerToken owner) {
        withdrawnAt.putIfAbsent(owner.publicId(), world.elapsedNanos());
    }

    /** An entry is made by a request that was sent then. */
    public void made(String id, long sentAtNanos) {
        Long withdrawn = withdrawnAt.get(id);
        if (withdrawn != null && sentAtNanos > withdrawn) {
            problem("withdrawn: an entry was made anew after its removal was confirmed");
        }
    }

    // ---- what is done

    private void runWrong(VirtualRuntime process, QueueFault fault) {
        long most = plan.driftPartsPerMillion();
        if (most > 0) {
            process.monotonicClock(new ClockShape.Linear(1.0 + (world.randomBelow(2 * most + 1) - most) / 1e6));
            saw(fault);
        }
    }

    private void begin() {
        VirtualRuntime process = world.process("client-" + ++named);
        runWrong(process, QueueFault.CLIENT_CLOCK_RATE);
        QueueWire wire = new QueueWire(this, process);
        int bad = calm ? 0 : plan.network();
        wire.faults(
                bad == 0
                        ? CALM
                        : CALM.delay(
                                Duration.ofNanos(20_000),
                                Duration.ofNanos(50_000 + world.randomBelow(1_500_000L * bad))));
        QueueClient client = new QueueClient(this, wire);
        clients.add(client);
        all.add(client);
        client.start(plan.tasks());
    }

    boolean drawsReset(QueueFault fault) {
        if (calm || !world.chance(plan.network() / 1_000.0)) {
            return false;
        }
        saw(fault);
        return true;
    }

    /** Draws a pause at a suspension point: short ones often, some of them longer than a ttl. */
    long pauseNanos(QueueFault point) {
        if (calm || plan.pauses() == 0 || world.randomBelow(10_000) >= plan.pauses()) {
            return 0;
        }
        saw(point);
        return 1 + world.randomBelow(world.chance(0.6) ? 60_000_000L : 4_000_000_000L);
    }

    private void inflict(QueuePlan.Harm harm) {
        QueueClient client = clients.get(harm.client() % clients.size());
        QueueWire wire = client.wire;
        Duration span = Duration.ofMillis(harm.millis());
        saw(harm.fault());
        switch (harm.fault()) {
            case CUT_REQUESTS -> {
                wire.requests().cut();
                world.after(span, wire.requests()::heal);
            }
            case CUT_REPLIES -> {
                wire.replies().cut();
                world.after(span, wire.replies()::heal);
            }
            case STALL -> {
                wire.requests().stall();
                wire.replies().stall();
                world.after(span, () -> {
                    wire.requests().resume();
                    wire.replies().resume();
                });
            }
            case WATCH_BROKEN -> model.breakWatches(wire);
            case NEW_LEADER -> model.newLeader();
            case CLIENT_FREEZE -> wire.process().freeze(span);
            case CLIENT_CRASH -> {
                wire.process().crash();
                clients.remove(client);
                begin();
            }
            case CLUSTER_FREEZE -> host.freeze(span.dividedBy(3));
            case FORCED_RELEASE -> model.forceRelease(lock(harm.client() % plan.locks()));
            default -> throw new IllegalStateException(harm.fault() + " is no fault that comes at a time");
        }
    }

    Result run() {
        world.runFor(Duration.ofMillis(QueuePlan.CHAOS_MILLIS));
        calm = true;
        for (QueueClient client : all) {
            client.stop();
            client.wire.requests().heal();
            client.wire.replies().heal();
            client.wire.requests().resume();
            client.wire.replies().resume();
            client.wire.faults(CALM);
        }
        QueueAftermath.check(this);
        History whole = History.of(history);
        judge(whole);
        return new Result(plan, problems, faults, events, whole, world.traceHash());
    }

    private void judge(History whole) {
        if (plan.promisesExclusion()) {
            OverlapChecker.check(whole).forEach(v -> problems.add("overlap: " + v));
            TokenChecker.check(whole).forEach(v -> problems.add("token: " + v));
        }
        for (LostUpdateChecker.Result result : LostUpdateChecker.check(whole)) {
            boolean checking = result.resource().startsWith("checking/");
            String kind = checking ? "checking" : "naive";
            saw("updates " + kind, result.acknowledged());
            saw("lost updates " + kind, result.lost());
            if (checking && result.lost() > 0) {
                problems.add("lost update: " + result);
            }
        }
        saw("acquisitions", whole.acquisitions());
        saw("steps", world.eventsRun());
    }

    /** Counts what clients tell. */
    LockListener listener() {
        return new LockListener() {
            @Override
            public void attemptEnded(AttemptEnded event) {
                saw("attempt " + event.outcome(), 1);
            }

            @Override
            public void renewed(Renewed event) {
                saw("renewal " + event.outcome(), 1);
            }

            @Override
            public void lost(Lost event) {
                saw("lost " + event.cause(), 1);
            }

            @Override
            public void released(Released event) {
                saw("release " + event.outcome(), 1);
            }
        };
    }
}
