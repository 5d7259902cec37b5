package io.leasehold.cli.command;

import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.demo.DemoFailure;
import io.leasehold.cli.demo.DemoSettings;
import io.leasehold.cli.demo.FirstDemo;
import io.leasehold.servers.ServerException;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold demo}: shows in seconds what a lock across processes is for. */
@Command(
        name = "demo",
        description = {
            "Shows it: processes fight for one lock, and one that holds it is killed.",
            "Starts its own Redis, and leaves nothing behind.%n"
        },
        footer = {"%nExits 0 if the lock kept its promise, 1 if two held it or work was lost."})
public final class DemoCommand implements Callable<Integer> {

    private static final String FIRST = "first";
    private static final int LEAST_WORKERS = 2;
    private static final int MOST_WORKERS = 8;

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
            description = "Default: first")
    @SuppressWarnings("NullAway.Init")
    private String scenario;

    @Option(names = "--workers", paramLabel = "N", defaultValue = "4", description = "Processes, 2 to 8. Default: 4")
    private int workers;

    @Option(names = "--without-lock", description = "The same without the lock: work is lost.")
    private boolean withoutLock;

    @Option(names = "--quick", description = "Not at the pace of people.")
    private boolean quick;

    /** A command of this invocation. */
    public DemoCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() throws InterruptedException, IOException {
        requireUsable();
        DemoSettings settings =
                quick ? DemoSettings.quick(workers, !withoutLock) : DemoSettings.paced(workers, !withoutLock);
        try {
            boolean held = new FirstDemo(settings, invocation.terminal(), invocation.environment()).play();
            return held ? ExitCode.OK.code() : ExitCode.FOUND.code();
        } catch (ServerUnavailableException | ServerException e) {
            invocation.terminal().complain("no Redis for the demo: " + e.getMessage());
            return ExitCode.STORE_UNAVAILABLE.code();
        } catch (DemoFailure e) {
            invocation.terminal().complain(String.valueOf(e.getMessage()));
            return ExitCode.INTERNAL.code();
        }
    }

    private void requireUsable() {
        if (!scenario.equals(FIRST)) {
            throw refused("there is no scenario \"" + scenario + "\": there is " + FIRST);
        }
        if (workers < LEAST_WORKERS || workers > MOST_WORKERS) {
            throw refused("--workers must be " + LEAST_WORKERS + " to " + MOST_WORKERS + ", not " + workers);
        }
        if (!store.uri(Map.of()).equals(new StoreOption().uri(Map.of()))) {
            throw refused("demo starts its own Redis and takes no --store");
        }
    }

    private ParameterException refused(String reason) {
        return new ParameterException(spec.commandLine(), reason);
    }
}
