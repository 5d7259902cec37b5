package io.leasehold.cli;

import io.leasehold.cli.command.CompletionCommand;
import io.leasehold.cli.command.ListCommand;
import io.leasehold.cli.command.RunCommand;
import io.leasehold.cli.command.ShowCommand;
import io.leasehold.cli.command.WarmUpCommand;
import io.leasehold.cli.command.WhoCommand;
import io.leasehold.cli.output.Terminal;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** Where the program starts: reads the command line, runs one verb, and turns what it says into an exit code. */
@Command(
        name = "leasehold",
        description = "Locks across processes and machines, as leases.",
        versionProvider = Main.Version.class,
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        synopsisSubcommandLabel = "COMMAND")
public final class Main implements Runnable {

    private static final String LOG_LEVEL = "org.slf4j.simpleLogger.defaultLogLevel";
    private static final String LOG_VARIABLE = "LEASEHOLD_LOG";

    @Mixin
    private final StoreOption store = new StoreOption();

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private Main() {}

    /** Runs the program and ends the process. */
    public static void main(String[] arguments) {
        Terminal terminal = Terminal.standard();
        int code = run(arguments, new Invocation(terminal, System.getenv()));
        // Everything was closed in its order; what is left (threads of a driver) need not delay the caller.
        if (Boolean.getBoolean("leasehold.exit")) {
            System.exit(code);
        }
        Runtime.getRuntime().halt(code);
    }

    /** Runs the program; returns its exit code. */
    static int run(String[] arguments, Invocation invocation) {
        String level = invocation.environment().getOrDefault(LOG_VARIABLE, "error");
        System.setProperty(LOG_LEVEL, level);
        try {
            return commandLine(invocation).execute(arguments);
        } catch (RuntimeException e) {
            invocation.terminal().complain(Failure.of(e).reason());
            return ExitCode.INTERNAL.code();
        }
    }

    /** The whole command line; the test of the manual and the completion script read it, too. */
    static CommandLine commandLine(Invocation invocation) {
        Main main = new Main();
        CommandLine line = new CommandLine(main)
                .addSubcommand(new RunCommand(invocation, main.store))
                .addSubcommand(new ListCommand(invocation, main.store))
                .addSubcommand(new ShowCommand(invocation, main.store))
                .addSubcommand(new WhoCommand(invocation, main.store))
                .addSubcommand(new CompletionCommand(invocation))
                .addSubcommand(new WarmUpCommand(invocation, arguments -> run(arguments, invocation)));
        line.setExpandAtFiles(false);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpWidth(80);
        line.setParameterExceptionHandler((problem, arguments) -> refuse(problem, invocation));
        line.setExecutionExceptionHandler((problem, command, parsed) -> fail(problem, invocation));
        return line;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "which command? One of run, ls, show, who, completion");
    }

    private static int refuse(ParameterException problem, Invocation invocation) {
        String command = problem.getCommandLine().getCommandSpec().qualifiedName();
        invocation.terminal().complain(problem.getMessage() + " (see " + command + " --help)");
        return ExitCode.USAGE.code();
    }

    private static int fail(Exception problem, Invocation invocation) {
        Failure failure = Failure.of(problem);
        invocation.terminal().complain(failure.reason());
        if (failure.code() == ExitCode.INTERNAL && isVerbose(invocation.environment())) {
            problem.printStackTrace();
        }
        return failure.code().code();
    }

    private static boolean isVerbose(Map<String, String> environment) {
        return environment.containsKey(LOG_VARIABLE);
    }

    /** The version, as the archive names it. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Main.class.getPackage().getImplementationVersion();
            return new String[] {"leasehold " + (version == null ? "(development)" : version)};
        }
    }
}
