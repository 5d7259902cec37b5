package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.verify.client.ControlKind;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code controls}: runs every lock that is known to break with the harness that judges Leasehold. */
@Command(
        name = "controls",
        mixinStandardHelpOptions = true,
        description = {
            "Runs each lock that is known to break with the faults that Leasehold must survive: a few clients, one lock,",
            "a ttl of 500 ms (2 s over a quorum). Prints the violations. Exit code: 0 all were detected, 1 one was not."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class ControlsCommand implements Callable<Integer> {

    private static final Duration TTL = Duration.ofMillis(500);

    /** Long enough to ask a majority one by one. */
    private static final Duration QUORUM_TTL = Duration.ofSeconds(2);

    /** For picocli. */
    public ControlsCommand() {}

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--minutes", paramLabel = "M", description = "Length of a try. Default: 0.2")
    private double minutes = 0.2;

    @Option(names = "--tries", paramLabel = "N", description = "Maximum number of tries of each. Default: 5")
    private int tries = 5;

    @Option(names = "--seed", paramLabel = "S", description = "Seed of the first try of each. Default: 1")
    private long seed = 1;

    @Option(names = "--clients", paramLabel = "N", description = "Number of client JVMs. Default: 3")
    private int clients = 3;

    @Option(
            names = "--only",
            paramLabel = "LOCK",
            converter = ChaosCommand.Control.class,
            description = "Only this lock.")
    private @Nullable ControlKind only;

    @Override
    public Integer call() throws Exception {
        if ((!(minutes > 0 && minutes <= 60) || tries < 1 || clients < 2) && spec != null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--minutes " + minutes + " --tries " + tries + " --clients " + clients
                            + ": minutes have to be above 0 and at most 60, tries at least 1, clients at least 2");
        }
        int caught = 0;
        int tried = 0;
        long acquisitions = 0;
        for (ControlKind control : ControlKind.values()) {
            if (only == null || only == control) {
                tried++;
                Verdict verdict = hunt(control);
                acquisitions += verdict.figures().acquisitions();
                caught += verdict.exitCode() == 0 ? 1 : 0;
            }
        }
        System.out.println("controls: " + caught + " of " + tried + " caught, " + acquisitions
                + " acquisitions in the runs that caught them");
        return caught == tried ? 0 : 1;
    }

    /** Tries seeds until the control is detected. */
    private Verdict hunt(ControlKind control) throws Exception {
        for (int attempt = 0; ; attempt++) {
            Verdict verdict = ChaosRun.run(plan(control, seed + attempt));
            boolean caught = verdict.exitCode() == 0;
            if (caught || attempt == tries - 1) {
                System.out.printf(
                        Locale.ROOT,
                        "  %-22s %s; naive lost %d of %d, acquisitions %d%n",
                        ChaosCommand.nameOf(control),
                        (caught ? "seed " + (seed + attempt) + ": " : "NOT CAUGHT in " + tries + " tries; the last: ")
                                + verdict.broken(),
                        verdict.figures().naiveLost(),
                        verdict.figures().naive(),
                        verdict.figures().acquisitions());
                return verdict;
            }
        }
    }

    private ChaosPlan plan(ControlKind control, long ofSeed) {
        return new ChaosPlan(
                control.needsQuorum() ? StoreKind.REDLOCK : StoreKind.REDIS,
                LeaseKind.LOCKS,
                Duration.ofMillis((long) (minutes * 60_000)),
                ofSeed,
                clients,
                1,
                control.needsQuorum() ? QUORUM_TTL : TTL,
                control,
                1,
                EnumSet.allOf(FaultGroup.class),
                null);
    }
}
