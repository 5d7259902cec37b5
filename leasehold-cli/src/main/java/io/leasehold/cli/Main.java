package io.leasehold.cli;

import io.leasehold.cli.command.PlainRun;
import io.leasehold.cli.output.OutputGoneException;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.TypedArguments;
import io.leasehold.cli.process.TypedWords;
import java.util.List;
import java.util.Map;

/** The entry point: runs one command, and turns its result into an exit code. Only {@link CommandTree} knows picocli. */
public final class Main {

    private static final String LOG_LEVEL = "org.slf4j.simpleLogger.defaultLogLevel";
    /** Drivers read the descriptions of their events at each start, although no recording runs. */
    private static final Map<String, String> NO_FLIGHT_EVENTS =
            Map.of("io.lettuce.core.jfr", "false", "io.netty.jfr.enabled", "false");

    static final String LOG_VARIABLE = "LEASEHOLD_LOG";

    private Main() {}

    /** Runs the program and ends the process. */
    public static void main(String[] arguments) {
        Terminal terminal = Terminal.standard();
        // The JVM decodes them by a locale that may not be installed.
        TypedWords typed = TypedArguments.of(List.of(arguments));
        Map<String, String> environment = TypedArguments.environment(System.getenv());
        int code = run(typed.texts().toArray(new String[0]), new Invocation(terminal, environment, typed));
        // Everything was closed in order; the rest (threads of a driver) need not delay the caller.
        if (Boolean.getBoolean("leasehold.exit")) {
            System.exit(code);
        }
        Runtime.getRuntime().halt(code);
    }

    /** Runs the program; returns its exit code. */
    static int run(String[] arguments, Invocation invocation) {
        String level = invocation.environment().getOrDefault(LOG_VARIABLE, "error");
        System.setProperty(LOG_LEVEL, level);
        if (level.equals("error") && System.getProperty(QuietLogging.PROPERTY) == null) {
            System.setProperty(QuietLogging.PROPERTY, "io.leasehold.cli.QuietLogging");
        }
        NO_FLIGHT_EVENTS.forEach(System::setProperty);
        FailureLines failures = new FailureLines(invocation);
        try {
            PlainRun plain = PlainRun.of(List.of(arguments), invocation);
            int code = plain == null ? CommandTree.execute(arguments, invocation) : perform(plain, arguments, failures);
            if (code == ExitCode.OK.code()) {
                // Help is written by picocli, which looks at no failure.
                invocation.terminal().checkWritten();
            }
            return code;
        } catch (OutputGoneException gone) {
            return failures.outputGone(gone);
        } catch (RuntimeException | Error e) {
            return failures.told(Failure.internal(e));
        }
    }

    private static int perform(PlainRun run, String[] arguments, FailureLines failures) {
        try {
            return run.perform();
        } catch (Exception | Error problem) {
            return failures.told(failures.thrown(problem), run.command(), List.of(arguments));
        }
    }
}
