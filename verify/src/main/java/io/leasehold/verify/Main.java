package io.leasehold.verify;

import io.leasehold.verify.chaos.ChaosCommand;
import io.leasehold.verify.listing.ListingCommand;
import io.leasehold.verify.liveness.LivenessCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code verify/run}: what runs real processes against each other. */
@Command(
        name = "verify/run",
        description = "Runs real client processes against real stores, does harm, and checks what came of it.",
        mixinStandardHelpOptions = true,
        subcommands = {ChaosCommand.class, ListingCommand.class, LivenessCommand.class},
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
