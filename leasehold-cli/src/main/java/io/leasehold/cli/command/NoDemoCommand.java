package io.leasehold.cli.command;

import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Unmatched;

/** {@code leasehold demo} if no module provides demonstrations: says where to find them. */
@Command(name = "demo", hidden = true, description = NoDemoCommand.WHERE)
public final class NoDemoCommand implements Callable<Integer> {

    static final String WHERE = "demonstrations come with the full archive, leasehold-demo, or a checkout";

    @Unmatched
    @SuppressWarnings({"NullAway.Init", "unused"})
    private List<String> arguments;

    @Override
    public Integer call() {
        throw new IllegalArgumentException(WHERE);
    }
}
