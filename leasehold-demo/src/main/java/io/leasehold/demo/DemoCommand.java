package io.leasehold.demo;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.servers.ServerException;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold demo}: demonstrates in seconds the purpose of a lock across processes. */
@Command(
        name = "demo",
        header = "Demonstrates a locking hazard with real processes and judges the result.",
        description = "Starts real servers and processes of its own, and leaves nothing behind.%n",
        footer = {
            "%nWithout a scenario, four processes fight for one lock and one that holds it",
            "is killed. The others, one hazard each (demo --list describes them):",
            "pause, clock, restart, failover, redlock, tokens, broken.",
            "%nExits 0 if all promises were kept, 1 if two held it or work was lost."
        })
public final class DemoCommand implements Callable<Integer> {

    private static final String FIRST = "first";
    private static final int WORKERS = 4;
    private static final int MIN_WORKERS = 2;
    private static final int MAX_WORKERS = 8;

    private final Invocation invocation;
    private final StoreOption store;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "SCENARIO",
            defaultValue = FIRST,
            description = "Names one of those below (first).")
    @SuppressWarnings("NullAway.Init")
    private String scenario;

    @Option(names = "--workers", paramLabel = "N", description = "Starts N processes in first, 2 to 8 (4).")
    private @Nullable Integer workers;

    @Option(
            names = {"--without-lock", "--naive"},
            description = "Leaves out the protection: work is lost.")
    private boolean naive;

    @Option(names = "--list", description = "Lists the scenarios and does nothing else.")
    private boolean list;

    @Option(names = "--quick", description = "Runs as fast as possible.")
    private boolean quick;

    /** A command of this invocation. */
    public DemoCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() throws InterruptedException, IOException {
        if (list) {
            invocation.terminal().print(listed());
            return ExitCode.OK.code();
        }
        int processes = workers == null ? WORKERS : workers;
        requireUsable(processes);
        try {
            boolean held = scenario.equals(FIRST)
                    ? first(processes)
                    : Scenarios.play(scenario, naive, quick, invocation.terminal(), invocation.environment());
            return held ? ExitCode.OK.code() : ExitCode.FOUND.code();
        } catch (ServerUnavailableException | ServerException e) {
            invocation.terminal().complain("no Redis for the demo: " + e.getMessage());
            return ExitCode.STORE_UNAVAILABLE.code();
        } catch (DemoFailure e) {
            invocation.terminal().complain(String.valueOf(e.getMessage()));
            return ExitCode.INTERNAL.code();
        }
    }

    private static List<String> listed() {
        List<String> lines = new ArrayList<>();
        lines.add(row(FIRST, "processes fight for one lock, and a holder is killed"));
        Scenarios.summaries().forEach((name, summary) -> lines.add(row(name, summary)));
        return lines;
    }

    private static String row(String name, String summary) {
        return String.format(Locale.ROOT, "%-9s %s", name, summary);
    }

    private boolean first(int processes) throws DemoFailure, IOException, InterruptedException {
        DemoSettings settings = quick ? DemoSettings.quick(processes, !naive) : DemoSettings.paced(processes, !naive);
        return new FirstDemo(settings, invocation.terminal(), invocation.environment()).play();
    }

    private void requireUsable(int processes) {
        if (!scenario.equals(FIRST) && !Scenarios.summaries().containsKey(scenario)) {
            throw refused("there is no scenario \"" + scenario + "\": there are " + FIRST + ", "
                    + String.join(", ", Scenarios.summaries().keySet()));
        }
        if (workers != null && !scenario.equals(FIRST)) {
            throw refused("--workers is for the scenario " + FIRST + " alone: " + scenario + " has its own cast");
        }
        if (processes < MIN_WORKERS || processes > MAX_WORKERS) {
            throw refused("--workers must be " + MIN_WORKERS + " to " + MAX_WORKERS + ", not " + processes);
        }
        if (!store.uri(Map.of()).equals(new StoreOption().uri(Map.of()))) {
            throw refused("demo starts its own servers and takes no --store");
        }
    }

    private ParameterException refused(String reason) {
        return new ParameterException(spec.commandLine(), reason);
    }
}
