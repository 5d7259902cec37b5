package io.leasehold.verify.simulate;

import com.sun.management.OperatingSystemMXBean;
import io.leasehold.simulator.LeaseKind;
import io.leasehold.simulator.SimulationPlan;
import io.leasehold.simulator.SimulationReport;
import io.leasehold.simulator.SimulationResult;
import io.leasehold.simulator.Simulator;
import io.leasehold.verify.queue.QueueKind;
import io.leasehold.verify.queue.QueueSimulator;
import io.leasehold.verify.run.Seeds;
import io.leasehold.verify.sql.SqlSimulator;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code simulate}: the real engine and quorum in a virtual world, for many seeds. */
@Command(
        name = "simulate",
        mixinStandardHelpOptions = true,
        description = {
            "Runs the real engine and the real quorum, or the real lease table over a model of a database, in a virtual",
            "world, one plan of faults for each seed. A failing plan is reduced and printed with its timeline.",
            "Exit code: 0 no guarantee was broken, 1 one was, 2 some kind of fault never happened in 500 runs or more."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class SimulateCommand implements Callable<Integer> {

    private static final int ENOUGH_FOR_EVERY_FAULT = 500;

    /** Called by picocli. */
    public SimulateCommand() {}

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--runs", paramLabel = "N", description = "Number of runs. Default: 1000")
    private int runs = 1_000;

    @Option(names = "--seed", paramLabel = "S", description = "The first seed. Default: the clock")
    private long seed = System.currentTimeMillis();

    @Option(
            names = "--fresh",
            paramLabel = "N",
            description = "Number of additional runs, from a seed of the clock, which is printed first. Default: 0")
    private int fresh;

    @Option(
            names = "--store",
            paramLabel = "redis|sql|etcd|zookeeper",
            description =
                    "Nodes of Redis, the lease table over models of PostgreSQL, MariaDB and H2, or the queues of etcd or"
                            + " ZooKeeper over models of them. Default: redis")
    private Store store = Store.REDIS;

    private enum Store {
        REDIS,
        SQL,
        ETCD,
        ZOOKEEPER;

        boolean simulates(LeaseKind kind) {
            return this == REDIS || kind == LeaseKind.LOCKS || (this != SQL && kind == LeaseKind.READERS);
        }

        Seeds<?> seeds(LeaseKind kind) {
            return this == SQL
                    ? SqlSimulator.seeds()
                    : QueueSimulator.seeds(QueueKind.valueOf(name() + (kind == LeaseKind.READERS ? "_READERS" : "")));
        }
    }

    @Option(
            names = "--kind",
            paramLabel = "locks|readers|permits|tickets",
            description = "The kind of lease, at nodes of Redis; readers also at etcd and zookeeper. Default: locks")
    private LeaseKind kind = LeaseKind.LOCKS;

    @Option(names = "--history", description = "With --runs 1: prints the history of the run instead.")
    private boolean history;

    @Option(
            names = "--traces",
            description =
                    "Prints a line for each seed: the seed, and a hash of all events of its run. Two versions of the code"
                            + " with equal lines behaved equally.")
    private boolean traces;

    @Override
    public Integer call() {
        if (!store.simulates(kind) && spec != null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--kind is for nodes of Redis; of the other stores, etcd and zookeeper also simulate readers");
        }
        if ((runs < 1 || (history && runs != 1)) && spec != null) {
            throw new ParameterException(
                    spec.commandLine(), "--runs is " + runs + "; it must be at least 1, and 1 with --history");
        }
        if (history) {
            System.out.print(
                    store == Store.REDIS
                            ? simulator().run(simulator().plan(seed)).history().text()
                            : store.seeds(kind).history(seed));
            return 0;
        }
        if (traces) {
            for (long each = seed; each < seed + runs; each++) {
                System.out.printf(Locale.ROOT, "%d %016x%n", each, traceHash(each));
            }
            return 0;
        }
        int code = from(seed, runs);
        if (fresh > 0 && code != 1) {
            long first = System.currentTimeMillis();
            // Printed before the runs, so that a run that never ends can be repeated, too.
            System.out.println(
                    "fresh: again by verify/run simulate" + options() + " --runs " + fresh + " --seed " + first);
            int later = from(first, fresh);
            code = code == 0 || later == 1 ? later : code;
        }
        return code;
    }

    /** The options that choose what is run, as they are typed. */
    private String options() {
        return (store == Store.REDIS ? "" : " --store " + store.name().toLowerCase(Locale.ROOT))
                + (kind == LeaseKind.LOCKS ? "" : " --kind " + kind.name().toLowerCase(Locale.ROOT));
    }

    private long traceHash(long seed) {
        if (store != Store.REDIS) {
            return store.seeds(kind).traceHash(seed);
        }
        SimulationResult result = simulator().run(simulator().plan(seed));
        return 31 * result.traceHash() + result.history().text().hashCode();
    }

    private int from(long first, int count) {
        return store == Store.REDIS ? redis(first, count) : seeds(first, count);
    }

    private Simulator simulator() {
        return Simulator.standard().of(kind);
    }

    private int redis(long first, int count) {
        Simulator simulator = simulator();
        long cpuBefore = cpuNanos();
        SimulationReport report = simulator.run(first, count);
        double seconds = (cpuNanos() - cpuBefore) / 1e9;
        System.err.println("faults: " + new TreeMap<>(report.faults()));
        System.err.println("events: " + new TreeMap<>(report.events()));
        for (SimulationResult failed : report.failed()) {
            System.err.println("seed " + failed.plan().seed() + " fails: " + failed.problems());
        }
        report.failed().stream().limit(1).forEach(failed -> explain(simulator, failed));
        System.out.println(line(report, first, seconds));
        return code(count, report.failed().isEmpty(), report.neverHappened().isEmpty());
    }

    private int seeds(long first, int count) {
        LongSupplier clock = store == Store.SQL ? SimulateCommand::processNanos : SimulateCommand::cpuNanos;
        Seeds<?> plans = store.seeds(kind);
        long cpuBefore = clock.getAsLong();
        Seeds.Report report = plans.run(first, count);
        double seconds = (clock.getAsLong() - cpuBefore) / 1e9;
        Map<String, Long> events = report.events();
        System.err.println("faults: " + report.faults());
        System.err.println("events: " + events);
        for (Seeds.Failure failure : report.failures()) {
            System.err.println("seed " + failure.seed() + " fails: " + failure.problems());
        }
        report.failures().stream()
                .limit(1)
                .forEach(failure -> plans.explain(failure.seed()).forEach(System.err::println));
        System.out.printf(
                Locale.ROOT,
                "simulate --store %s: %d runs from seed %d, %d steps, %d acquisitions, faults of %d kinds %d times%s,"
                        + " violations=%d; lost updates: checking=%d of %d, naive=%d of %d; %.1f s of processor time%n",
                store.name().toLowerCase(Locale.ROOT),
                report.runs(),
                first,
                events.getOrDefault("steps", 0L),
                events.getOrDefault("acquisitions", 0L),
                report.faults().size(),
                report.faults().values().stream().mapToLong(Long::longValue).sum(),
                report.neverHappened().isEmpty() ? "" : " (never: " + report.neverHappened() + ")",
                report.failures().size(),
                events.getOrDefault("lost updates checking", 0L),
                events.getOrDefault("updates checking", 0L),
                events.getOrDefault("lost updates naive", 0L),
                events.getOrDefault("updates naive", 0L),
                seconds);
        return code(count, report.failures().isEmpty(), report.neverHappened().isEmpty());
    }

    private static int code(int count, boolean keptAll, boolean sawAll) {
        if (!keptAll) {
            return 1;
        }
        return count >= ENOUGH_FOR_EVERY_FAULT && !sawAll ? 2 : 0;
    }

    /** A run over SQL has several threads, of which one runs at a time. */
    private static long processNanos() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? system.getProcessCpuTime()
                : System.nanoTime();
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private void explain(Simulator simulator, SimulationResult failed) {
        SimulationPlan small = simulator.shrink(failed.plan());
        System.err.println("made smaller:\n" + small);
        simulator.timeline(small).forEach(System.err::println);
        System.err.println("again: verify/run simulate" + options() + " --runs 1 --seed "
                + failed.plan().seed());
    }

    private String line(SimulationReport report, long first, double seconds) {
        Map<String, Long> events = report.events();
        return String.format(
                Locale.ROOT,
                "simulate%s: %d runs from seed %d, %.1f simulated hours, %d steps, %d acquisitions, faults of %d kinds %d"
                        + " times%s, violations=%d; lost updates: checking=%d of %d, naive=%d of %d; %.1f s of one"
                        + " core, %.0f runs an hour",
                options(),
                report.runs(),
                first,
                report.simulated().toMillis() / 3_600_000.0,
                report.eventsRun(),
                events.getOrDefault("acquisitions", 0L),
                report.faults().size(),
                report.faults().values().stream().mapToLong(Long::longValue).sum(),
                report.neverHappened().isEmpty() ? "" : " (never: " + report.neverHappened() + ")",
                report.failed().size(),
                events.getOrDefault("lost updates checking", 0L),
                events.getOrDefault("updates checking", 0L),
                events.getOrDefault("lost updates naive", 0L),
                events.getOrDefault("updates naive", 0L),
                seconds,
                report.runs() / seconds * 3_600);
    }
}
