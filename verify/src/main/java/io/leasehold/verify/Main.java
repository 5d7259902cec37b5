package io.leasehold.verify;

import io.leasehold.verify.chaos.ChaosCommand;
import io.leasehold.verify.chaos.ControlsCommand;
import io.leasehold.verify.listing.ListingCommand;
import io.leasehold.verify.liveness.LivenessCommand;
import io.leasehold.verify.simulate.SimulateCommand;
import io.leasehold.verify.variants.VariantsCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code verify/run}: runs real processes against each other. */
@Command(
        name = "verify/run",
        description = "Runs simulated and real clients against such stores, injects faults, and checks the results.",
        mixinStandardHelpOptions = true,
        subcommands = {
            ChaosCommand.class,
            ControlsCommand.class,
            ListingCommand.class,
            LivenessCommand.class,
            SimulateCommand.class,
            VariantsCommand.class
        },
        exitCodeOnInvalidInput = 64)
public final class Main {

    private Main() {}

    /** The command line. */
    public static void main(String[] args) {
        System.exit(new CommandLine(new Main())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args));
    }
}
