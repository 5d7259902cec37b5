package io.leasehold.verify.run;

import io.leasehold.simulator.history.HistoryEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Runs the plans of seeds, finds failing ones and reduces them. A run uses the calling thread.
 *
 * @param <P> the plan of a run
 */
public final class Seeds<P extends FaultPlan<P, ?>> {

    private static final int MAX_SHRINKING_RUNS = 600;
    private static final int ENOUGH_FAILURES = 3;

    private final LongFunction<P> plans;
    private final Runner<P> runner;
    private final List<String> faults;

    /** Runs a plan. */
    public interface Runner<P> {
        /** Runs the plan; the trace receives each event of its world. */
        RunResult run(P plan, @Nullable Consumer<String> trace);
    }

    /**
     * A run with a broken guarantee.
     *
     * @param seed repeats the run: {@code verify/run simulate --store STORE --runs 1 --seed S}
     * @param problems the violations
     */
    public record Failure(long seed, List<String> problems) {
        /** Copies the list. */
        public Failure {
            problems = List.copyOf(problems);
        }
    }

    /**
     * The result of many runs.
     *
     * @param runs the number of runs
     * @param failures the runs that failed
     * @param faults the number of each fault
     * @param events the number of each event
     * @param neverHappened the kinds of fault that did not happen
     */
    public record Report(
            int runs,
            List<Failure> failures,
            Map<String, Long> faults,
            Map<String, Long> events,
            List<String> neverHappened) {}

    /** Creates a search over the plans of seeds, with their runner and kinds of fault. */
    public Seeds(LongFunction<P> plans, Runner<P> runner, Enum<?>[] faults) {
        this.plans = plans;
        this.runner = runner;
        this.faults = Arrays.stream(faults).map(Enum::name).toList();
    }

    /** Runs the seeds from {@code first} on; ends early after a few failures. */
    public Report run(long first, int runs) {
        Map<String, Long> faultsSeen = new TreeMap<>();
        Map<String, Long> events = new TreeMap<>();
        List<Failure> failures = new ArrayList<>();
        int made = 0;
        for (long seed = first; seed < first + runs && failures.size() < ENOUGH_FAILURES; seed++) {
            RunResult result = run(seed);
            made++;
            result.faults().forEach((fault, times) -> faultsSeen.merge(fault, times, Long::sum));
            result.events().forEach((event, times) -> events.merge(event, times, Long::sum));
            if (!result.problems().isEmpty()) {
                failures.add(new Failure(seed, result.problems()));
            }
        }
        List<String> never =
                faults.stream().filter(fault -> !faultsSeen.containsKey(fault)).toList();
        return new Report(made, List.copyOf(failures), faultsSeen, events, never);
    }

    private RunResult run(long seed) {
        return runner.run(plans.apply(seed), null);
    }

    /** The first problem of this seed, or an empty text. */
    public String problemOf(long seed) {
        List<String> problems = run(seed).problems();
        return problems.isEmpty() ? "" : problems.get(0);
    }

    /** The history of this seed's run, the same each time, byte by byte. */
    public String history(long seed) {
        return run(seed).history().text();
    }

    /** A hash of all events in the run of this seed. */
    public long traceHash(long seed) {
        RunResult result = run(seed);
        return 31 * result.traceHash() + result.history().text().hashCode();
    }

    /** The plan of a failing seed, reduced, with its timeline. */
    public List<String> explain(long seed) {
        P small = shrink(plans.apply(seed));
        List<Moment> moments = new ArrayList<>();
        RunResult result = runner.run(small, line -> {
            if (!line.contains(" #")) {
                int blank = line.indexOf(' ');
                moments.add(new Moment(Double.parseDouble(line.substring(0, blank)), line.substring(blank + 1)));
            }
        });
        for (HistoryEvent event : result.history().events()) {
            moments.add(new Moment(event.atNanos() / 1e9, event.toString()));
        }
        moments.sort(Comparator.comparingDouble(Moment::seconds));
        List<String> lines = new ArrayList<>(List.of(small.toString()));
        moments.forEach(moment -> lines.add(String.format(Locale.ROOT, "%12.6f  %s", moment.seconds(), moment.what())));
        result.problems().forEach(problem -> lines.add("      ==>     " + problem));
        return lines;
    }

    private record Moment(double seconds, String what) {}

    /** Reduces a plan while it breaks the same kind of guarantee. */
    private P shrink(P failing) {
        String kind = runner.run(failing, null).kind();
        P smallest = failing;
        int left = MAX_SHRINKING_RUNS;
        boolean smaller = true;
        while (smaller && left > 0) {
            smaller = false;
            for (P candidate : smallest.smaller()) {
                if (left-- > 0 && runner.run(candidate, null).kind().equals(kind)) {
                    smallest = candidate;
                    smaller = true;
                    break;
                }
            }
        }
        return smallest;
    }
}
