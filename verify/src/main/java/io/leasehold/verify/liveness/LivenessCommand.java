package io.leasehold.verify.liveness;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code liveness}: clients take turns over a quorum of real servers, and one line reports how they were served. */
@Command(
        name = "liveness",
        mixinStandardHelpOptions = true,
        description = {
            "Clients of a redlock: store take turns at one lock over real Redis servers. Requires a grant in each",
            "second, and 99 of 100 waits of at most 20 quorum rounds and the holds of the other clients. Exit code:",
            "0 both hold, 1 not. 64: invalid options."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class LivenessCommand implements Callable<Integer> {

    /** Called by picocli. */
    public LivenessCommand() {}

    @Spec
    private @Nullable CommandSpec spec;

    @Option(names = "--seconds", paramLabel = "S", description = "Length. Default: 60")
    private int seconds = 60;

    @Option(names = "--clients", paramLabel = "N", description = "Number of clients. Default: 3")
    private int clients = 3;

    @Option(names = "--nodes", paramLabel = "N", description = "Number of servers. Default: 5")
    private int nodes = 5;

    @Option(names = "--hold", paramLabel = "MS", description = "Length of each hold, in ms. Default: 5")
    private int holdMillis = 5;

    @Override
    public Integer call() throws Exception {
        refuseUnless(seconds >= 1 && seconds <= 3_600, "--seconds is " + seconds + "; it must be between 1 and 3600");
        refuseUnless(clients >= 1 && clients <= 64, "--clients is " + clients + "; it must be between 1 and 64");
        refuseUnless(nodes >= 1 && nodes <= 9, "--nodes is " + nodes + "; it must be between 1 and 9");
        refuseUnless(holdMillis >= 0 && holdMillis <= 1_000, "--hold is " + holdMillis + "; it must be 0 to 1000");
        TurnCounts counts = LivenessRun.run(clients, nodes, Duration.ofSeconds(seconds), Duration.ofMillis(holdMillis));
        System.out.println(counts.line());
        return counts.isLive() ? 0 : 1;
    }

    private void refuseUnless(boolean sensible, String why) {
        if (!sensible && spec != null) {
            throw new ParameterException(spec.commandLine(), why);
        }
    }
}
