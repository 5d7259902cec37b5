package io.leasehold.verify.sql;

import io.leasehold.simulator.history.HistoryEvent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Runs plans over the SQL stores, finds failing seeds and makes them small. A run belongs to the thread that calls it. */
public final class SqlSimulator {

    private static final int MAX_SHRINKING_RUNS = 600;
    private static final int ENOUGH_FAILURES = 3;

    private SqlSimulator() {}

    /**
     * A run in which a promise was broken.
     *
     * @param seed again: {@code verify/run simulate --store sql --runs 1 --seed S}
     * @param problems what must not have happened
     */
    public record Failure(long seed, List<String> problems) {
        /** Copies. */
        public Failure {
            problems = List.copyOf(problems);
        }
    }

    /**
     * What came of many runs.
     *
     * @param runs how many
     * @param failures the runs that failed
     * @param faults how often each fault happened
     * @param events how often what happened
     * @param neverHappened the faults that did not
     */
    public record Report(
            int runs,
            List<Failure> failures,
            Map<String, Long> faults,
            Map<String, Long> events,
            List<String> neverHappened) {}

    /** Runs the seeds from {@code first} on; ends early when a few have failed. */
    public static Report run(long first, int runs) {
        SqlCounts sum = new SqlCounts();
        List<Failure> failures = new ArrayList<>();
        int made = 0;
        for (long seed = first; seed < first + runs && failures.size() < ENOUGH_FAILURES; seed++) {
            SqlSimulation.Result result = run(SqlPlan.ofSeed(seed));
            made++;
            sum.add(result.counts());
            if (!result.problems().isEmpty()) {
                failures.add(new Failure(seed, result.problems()));
            }
        }
        Map<String, Long> faults = new java.util.TreeMap<>();
        sum.faults().forEach((fault, times) -> faults.put(fault.name(), times));
        List<String> never = Arrays.stream(SqlFault.values())
                .map(SqlFault::name)
                .filter(fault -> !faults.containsKey(fault))
                .toList();
        return new Report(made, List.copyOf(failures), faults, sum.events(), never);
    }

    static SqlSimulation.Result run(SqlPlan plan) {
        return new SqlSimulation(plan, null).run();
    }

    /** The first problem of this seed, or an empty text. */
    public static String problemOf(long seed) {
        List<String> problems = run(SqlPlan.ofSeed(seed)).problems();
        return problems.isEmpty() ? "" : problems.get(0);
    }

    /** What happened in the run of this seed, byte by byte the same each time. */
    public static String history(long seed) {
        return run(SqlPlan.ofSeed(seed)).history().text();
    }

    /** A hash of all that happened in the run of this seed. */
    public static long traceHash(long seed) {
        SqlSimulation.Result result = run(SqlPlan.ofSeed(seed));
        return 31 * result.traceHash() + result.history().text().hashCode();
    }

    /** The plan of a seed that fails, made smaller, with its timeline. */
    public static List<String> explain(long seed) {
        SqlPlan small = shrink(SqlPlan.ofSeed(seed));
        List<Moment> moments = new ArrayList<>();
        SqlSimulation.Result result = new SqlSimulation(small, line -> {
                    if (!line.contains(" #")) {
                        int blank = line.indexOf(' ');
                        moments.add(
                                new Moment(Double.parseDouble(line.substring(0, blank)), line.substring(blank + 1)));
                    }
                })
                .run();
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

    /** Fewer faults, clients and tasks, a better network and fewer pauses, while the same kind of promise is broken. */
    private static SqlPlan shrink(SqlPlan failing) {
        String kind = run(failing).kind();
        SqlPlan smallest = failing;
        int left = MAX_SHRINKING_RUNS;
        boolean smaller = true;
        while (smaller && left > 0) {
            smaller = false;
            for (SqlPlan candidate : candidates(smallest)) {
                if (left-- > 0 && run(candidate).kind().equals(kind)) {
                    smallest = candidate;
                    smaller = true;
                    break;
                }
            }
        }
        return smallest;
    }

    private static List<SqlPlan> candidates(SqlPlan plan) {
        List<SqlPlan> all = new ArrayList<>();
        List<SqlPlan.Harm> harms = plan.harms();
        if (plan.network() > 0) {
            all.add(plan.with(harms, plan.clients(), plan.tasks(), 0, plan.pauses()));
        }
        if (plan.pauses() > 0) {
            all.add(plan.with(harms, plan.clients(), plan.tasks(), plan.network(), 0));
        }
        if (plan.tasks() > 1) {
            all.add(plan.with(harms, plan.clients(), plan.tasks() - 1, plan.network(), plan.pauses()));
        }
        if (plan.clients() > 1) {
            all.add(plan.with(harms, plan.clients() - 1, plan.tasks(), plan.network(), plan.pauses()));
        }
        for (int chunk = harms.size(); chunk > 0; chunk /= 2) {
            for (int from = 0; from < harms.size(); from += chunk) {
                List<SqlPlan.Harm> fewer = new ArrayList<>(harms);
                fewer.subList(from, Math.min(harms.size(), from + chunk)).clear();
                all.add(plan.with(fewer, plan.clients(), plan.tasks(), plan.network(), plan.pauses()));
            }
        }
        return all;
    }
}
