package io.leasehold.cli;

import io.leasehold.cli.command.RunCommand;
import io.leasehold.cli.output.OutputGoneException;
import java.util.List;

/**
 * Turns failures into one line and an exit code.
 *
 * @param invocation receives the line
 */
record FailureLines(Invocation invocation) {

    private static final int SIGPIPE = 13;

    int told(Failure failure) {
        invocation.terminal().complain(failure.reason());
        return failure.code().code();
    }

    /** Reports in JSON if a script requested JSON from {@code run}. */
    int told(Failure failure, RunCommand run, List<String> arguments) {
        if (!RunCommand.wantsJson(arguments.toArray(String[]::new))) {
            return told(failure);
        }
        run.report(failure);
        return failure.code().code();
    }

    /**
     * Returns the exit code after a failed write. If the reader has left, it is that of an end by SIGPIPE, which no
     * shell reports as a failure.
     */
    int outputGone(OutputGoneException gone) {
        if (gone.readerLeft()) {
            return ExitCode.SIGNAL_BASE + SIGPIPE;
        }
        return told(new Failure(ExitCode.INTERNAL, String.valueOf(gone.getMessage())));
    }

    /** The failure for the exception of a command; its stack trace is shown if logs are enabled. */
    Failure thrown(Throwable problem) {
        Failure failure = Failure.of(problem);
        if (failure.code() == ExitCode.INTERNAL && invocation.environment().containsKey(Main.LOG_VARIABLE)) {
            problem.printStackTrace();
        }
        return failure;
    }
}
