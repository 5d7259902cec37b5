package io.leasehold.simulator;

import io.leasehold.node.LockNode;
import io.leasehold.simulator.history.HistoryEvent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Runs plans, finds failing seeds and minimises their plans.
 *
 * <p><b>Guarantee.</b> Equal plans over the same code give the same history, byte by byte, on every machine.
 *
 * <p><b>Threads.</b> A run uses the calling thread; several threads may run at once.
 */
public final class Simulator {

    private static final int ENOUGH_FAILURES = 3;
    private static final int MAX_SHRINKING_RUNS = 1_500;

    private final UnaryOperator<LockNode> variant;
    private final LeaseKind kind;

    private Simulator(UnaryOperator<LockNode> variant, LeaseKind kind) {
        this.variant = variant;
        this.kind = kind;
    }

    /** Creates a simulator with unchanged nodes. */
    public static Simulator standard() {
        return new Simulator(node -> node, LeaseKind.LOCKS);
    }

    /**
     * Creates a simulator with changed nodes, to test that the change is detected.
     *
     * @param variant wraps each life of each node
     */
    public static Simulator over(UnaryOperator<LockNode> variant) {
        return new Simulator(Objects.requireNonNull(variant, "variant"), LeaseKind.LOCKS);
    }

    /** The same simulator, for leases of this kind. */
    public Simulator of(LeaseKind other) {
        return new Simulator(variant, Objects.requireNonNull(other, "other"));
    }

    /** The plan of a seed: that of {@link SimulationPlan#ofSeed}, since a quorum keeps leases of all kinds. */
    public SimulationPlan plan(long seed) {
        return SimulationPlan.ofSeed(seed);
    }

    /** Runs a plan. */
    public SimulationResult run(SimulationPlan plan) {
        return run(plan, null);
    }

    /** Runs a plan, and reports each event, fault and note as a line, if there is a receiver. */
    public SimulationResult run(SimulationPlan plan, @Nullable Consumer<String> trace) {
        return kind == LeaseKind.LOCKS
                ? new Simulation(plan, variant, trace).run()
                : new KindSimulation(kind, plan, variant, trace).run();
    }

    /** The readable timeline of a run: faults, losses, beliefs of holders and accesses to the resource, by time. */
    public List<String> timeline(SimulationPlan plan) {
        List<Moment> moments = new ArrayList<>();
        SimulationResult result = run(plan, line -> {
            if (!line.contains(" #")) {
                int blank = line.indexOf(' ');
                moments.add(new Moment(Double.parseDouble(line.substring(0, blank)), line.substring(blank + 1)));
            }
        });
        for (HistoryEvent event : result.history().events()) {
            moments.add(new Moment(event.atNanos() / 1e9, event.toString()));
        }
        moments.sort(Comparator.comparingDouble(Moment::seconds));
        List<String> lines = new ArrayList<>();
        moments.forEach(moment -> lines.add(String.format(Locale.ROOT, "%12.6f  %s", moment.seconds(), moment.what())));
        result.problems().forEach(problem -> lines.add("      ==>     " + problem));
        return lines;
    }

    private record Moment(double seconds, String what) {}

    /** Runs {@code runs} seeds from {@code first} on; ends early after a few failures. */
    public SimulationReport run(long first, int runs) {
        SimulationReport.Sum sum = new SimulationReport.Sum();
        for (long seed = first; seed < first + runs && sum.failures() < ENOUGH_FAILURES; seed++) {
            sum.add(run(plan(seed)));
        }
        return sum.report();
    }

    /**
     * Reduces a failing plan while it breaks the same kind of guarantee: less time, fewer clients and tasks, fewer
     * faults, a better network.
     *
     * @throws IllegalArgumentException if the plan does not fail
     */
    public SimulationPlan shrink(SimulationPlan failing) {
        SimulationResult before = run(failing);
        if (!before.failed()) {
            throw new IllegalArgumentException("the plan of seed " + failing.seed() + " does not fail");
        }
        return new Shrinking(before.kind()).shrink(failing);
    }

    private final class Shrinking {
        private final String kind;
        private int left = MAX_SHRINKING_RUNS;

        Shrinking(String kind) {
            this.kind = kind;
        }

        SimulationPlan shrink(SimulationPlan failing) {
            SimulationPlan smallest = failing;
            while (left > 0) {
                SimulationPlan smaller = fewerHarms(first(smallest, simpler(smallest)));
                if (smaller.equals(smallest)) {
                    break;
                }
                smallest = smaller;
            }
            return smallest;
        }

        private List<SimulationPlan> simpler(SimulationPlan plan) {
            List<SimulationPlan> candidates = new ArrayList<>();
            for (long millis :
                    new long[] {plan.chaosMillis() / 4, plan.chaosMillis() / 2, plan.chaosMillis() * 3 / 4}) {
                if (millis >= 100) {
                    candidates.add(plan.withChaosMillis(millis));
                }
            }
            candidates.add(plan.withClients(1, plan.tasks()));
            candidates.add(plan.withClients(Math.max(1, plan.clients() - 1), plan.tasks()));
            candidates.add(plan.withClients(plan.clients(), 1));
            candidates.add(plan.calmer(0, plan.pauses(), plan.driftPartsPerMillion()));
            candidates.add(plan.calmer(plan.network() / 2, plan.pauses(), plan.driftPartsPerMillion()));
            candidates.add(plan.calmer(plan.network(), 0, plan.driftPartsPerMillion()));
            candidates.add(plan.calmer(plan.network(), plan.pauses(), 0));
            return candidates;
        }

        /** The first different plan that still fails; a changed plan may need another seed. */
        private SimulationPlan first(SimulationPlan plan, List<SimulationPlan> candidates) {
            for (SimulationPlan candidate : candidates) {
                for (long seed = 0; seed < 4 && !candidate.equals(plan); seed++) {
                    SimulationPlan tried = seed == 0 ? candidate : candidate.withSeed(candidate.seed() + seed);
                    if (stillFails(tried)) {
                        return tried;
                    }
                }
            }
            return plan;
        }

        private SimulationPlan fewerHarms(SimulationPlan plan) {
            SimulationPlan smallest = plan;
            for (int chunk = plan.harms().size(); chunk > 0; chunk /= 2) {
                for (int from = 0; from < smallest.harms().size(); ) {
                    List<Harm> fewer = new ArrayList<>(smallest.harms());
                    fewer.subList(from, Math.min(fewer.size(), from + chunk)).clear();
                    SimulationPlan candidate = smallest.withHarms(fewer);
                    if (stillFails(candidate)) {
                        smallest = candidate;
                    } else {
                        from += chunk;
                    }
                }
            }
            return smallest;
        }

        private boolean stillFails(SimulationPlan plan) {
            if (left-- <= 0) {
                return false;
            }
            SimulationResult result = run(plan);
            return result.failed() && result.kind().equals(kind);
        }
    }
}
