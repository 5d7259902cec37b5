package io.leasehold.verify.run;

import io.leasehold.simulator.history.History;
import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.LostUpdateChecker;
import io.leasehold.simulator.history.OverlapChecker;
import io.leasehold.simulator.history.TokenChecker;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.LinkFaults;
import io.leasehold.testkit.virtual.VirtualRuntime;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One run of a plan: its world, its random choices, and its events. For one thread at a time.
 *
 * @param <F> the kinds of fault
 */
public final class SimulatedRun<F extends Enum<F>> {

    /** A connection without faults. */
    public static final LinkFaults CALM = LinkFaults.none().delay(Duration.ofNanos(50_000), Duration.ofNanos(500_000));

    private final FaultPlan<?, F> plan;
    private final VirtualWorld world;
    private final RunCounts<F> counts = new RunCounts<>();
    private final List<HistoryEvent> history = new ArrayList<>(512);
    /** The events of each reader. */
    private final List<List<HistoryEvent>> readers = new ArrayList<>();

    private final List<String> problems = new ArrayList<>();
    private final GuardedCounters resource;
    private boolean calm;

    /** Creates a run of a plan in a new world; the trace receives each of its events. */
    public SimulatedRun(FaultPlan<?, F> plan, @Nullable Consumer<String> trace) {
        this.plan = plan;
        this.world = VirtualWorld.seeded(plan.seed());
        if (trace != null) {
            world.onTrace(trace);
        }
        this.resource = new GuardedCounters(world, history);
    }

    /** The name of a lock. */
    public static String lock(long number) {
        return "lock-" + number;
    }

    /** The world. */
    public VirtualWorld world() {
        return world;
    }

    /** The counts of events. */
    public RunCounts<F> counts() {
        return counts;
    }

    GuardedCounters resource() {
        return resource;
    }

    FaultPlan<?, F> plan() {
        return plan;
    }

    /** Whether the faults have ended. */
    public boolean isCalm() {
        return calm;
    }

    /** Ends the faults. */
    public void calm() {
        calm = true;
    }

    /** Records a violation. */
    public void problem(String what) {
        problems.add(what + ", at " + world.elapsed());
        world.note("PROBLEM " + what);
    }

    /** Records that a fault has happened. */
    public void saw(F fault) {
        counts.saw(fault);
        world.note(fault.name());
    }

    void happened(HistoryEvent event) {
        history.add(event);
    }

    /** Notes that a reader records its events there. */
    void reads(List<HistoryEvent> events) {
        readers.add(events);
    }

    /** Judges each reader against the holders of the exclusive lock. */
    private void judgeReaders() {
        Set<String> found = new LinkedHashSet<>();
        for (List<HistoryEvent> reader : readers) {
            List<HistoryEvent> together = new ArrayList<>(history);
            together.addAll(reader);
            History whole = History.of(together);
            OverlapChecker.check(whole).forEach(v -> found.add("overlap with a reader: " + v));
            TokenChecker.check(whole).forEach(v -> found.add("token of a reader: " + v));
        }
        problems.addAll(found);
        counts.saw("readers", readers.size());
    }

    /** Injects the faults of the plan at their times, until the calm. */
    public void schedule(Consumer<FaultPlan.Harm<F>> inflict) {
        for (FaultPlan.Harm<F> harm : plan.harms()) {
            world.after(Duration.ofMillis(harm.atMillis()), () -> {
                if (!calm) {
                    inflict.accept(harm);
                }
            });
        }
    }

    /** Makes the clock of a process run at a wrong rate. */
    public void runWrong(VirtualRuntime process, F fault) {
        long most = plan.driftPartsPerMillion();
        if (most > 0) {
            process.monotonicClock(new ClockShape.Linear(1.0 + (world.randomBelow(2 * most + 1) - most) / 1e6));
            saw(fault);
        }
    }

    /** Draws the delays of a connection. */
    public LinkFaults drawnFaults() {
        int bad = calm ? 0 : plan.network();
        return bad == 0
                ? CALM
                : LinkFaults.none()
                        .delay(
                                Duration.ofNanos(20_000),
                                Duration.ofNanos(50_000 + world.randomBelow(1_500_000L * bad)));
    }

    /** Draws whether a connection breaks: at network 1, once in this many times. */
    public boolean drawsReset(F fault, double oneIn) {
        if (calm || !world.chance(plan.network() / oneIn)) {
            return false;
        }
        saw(fault);
        return true;
    }

    /** Draws a pause at a suspension point: often a short one, sometimes longer than a ttl. */
    public long pauseNanos(F point) {
        if (calm || plan.pauses() == 0 || world.randomBelow(10_000) >= plan.pauses()) {
            return 0;
        }
        saw(point);
        return 1 + world.randomBelow(world.chance(0.6) ? 60_000_000L : 4_000_000_000L);
    }

    /** Judges the history. */
    public RunResult result() {
        History whole = History.of(history);
        if (plan.promisesExclusion()) {
            OverlapChecker.check(whole).forEach(v -> problems.add("overlap: " + v));
            TokenChecker.check(whole).forEach(v -> problems.add("token: " + v));
            judgeReaders();
        }
        for (LostUpdateChecker.Result result : LostUpdateChecker.check(whole)) {
            boolean checking = result.resource().startsWith("checking/");
            String kind = checking ? "checking" : "naive";
            counts.saw("updates " + kind, result.acknowledged());
            counts.saw("lost updates " + kind, result.lost());
            if (checking && result.lost() > 0) {
                problems.add("lost update: " + result);
            }
        }
        counts.saw("acquisitions", whole.acquisitions());
        counts.saw("steps", world.eventsRun());
        return new RunResult(problems, counts.faults(), counts.events(), whole, world.traceHash());
    }
}
