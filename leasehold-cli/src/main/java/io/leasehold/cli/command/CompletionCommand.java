package io.leasehold.cli.command;

import io.leasehold.cli.Invocation;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code leasehold completion}: prints the completion script for Bash and Zsh. */
@Command(
        name = "completion",
        header = "Prints the completion script for Bash and Zsh.",
        footer = "%nLoad it with: source <(leasehold completion)")
public final class CompletionCommand implements Runnable {

    private final Invocation invocation;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    /** A command of this invocation. */
    public CompletionCommand(Invocation invocation) {
        this.invocation = invocation;
    }

    @Override
    public void run() {
        invocation
                .terminal()
                .printText(AutoComplete.bash("leasehold", spec.root().commandLine()));
    }
}
