package io.leasehold.cli;

import io.leasehold.cli.command.CompletionCommand;
import io.leasehold.cli.command.DoctorCommand;
import io.leasehold.cli.command.LeaksCommand;
import io.leasehold.cli.command.ListCommand;
import io.leasehold.cli.command.NoDemoCommand;
import io.leasehold.cli.command.PermitsCommand;
import io.leasehold.cli.command.RedlockCommand;
import io.leasehold.cli.command.ReleaseCommand;
import io.leasehold.cli.command.RunCommand;
import io.leasehold.cli.command.ShowCommand;
import io.leasehold.cli.command.WaitCommand;
import io.leasehold.cli.command.WarmUpCommand;
import io.leasehold.cli.command.WatchCommand;
import io.leasehold.cli.command.WhoCommand;
import io.leasehold.cli.output.OutputGoneException;
import io.leasehold.cli.process.TypedWords;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IExecutionStrategy;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/**
 * The complete command line, as picocli reads it. A plain run does without it: {@link Main} refers to no type of picocli,
 * whose class files have an old format and cannot be in the class-data archive.
 */
@Command(
        name = "leasehold",
        description = "Runs commands under locks that machines share, and manages these locks.%n",
        footer = {
            "%nA store is memory:, sqlite:PATH (default sqlite:~/.leasehold/locks.db),",
            "redis://HOST:PORT, redis-replicated://MASTER,REPLICA,",
            "redis-sentinel://HOST,HOST/MASTER-NAME, redis-cluster://HOST,HOST,",
            "zk://HOST,HOST/CHROOT, etcd://HOST,HOST/PREFIX and others."
        },
        versionProvider = CommandTree.Version.class,
        mixinStandardHelpOptions = true,
        scope = ScopeType.INHERIT,
        synopsisSubcommandLabel = "COMMAND")
public final class CommandTree implements Runnable {

    @Mixin
    private final StoreOption store = new StoreOption();

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    private CommandTree() {}

    /** Reads the arguments and runs one command; returns its exit code. */
    static int execute(String[] arguments, Invocation invocation) {
        CommandLine line = commandLine(arguments, invocation);
        int code = line.execute(arguments);
        line.getOut().flush();
        return code;
    }

    /**
     * The command line for these arguments. If they begin with {@code run}, the other commands are not read, since each
     * costs time at a start.
     */
    public static CommandLine commandLine(String[] arguments, Invocation invocation) {
        if (arguments.length == 0 || !arguments[0].equals("run")) {
            return commandLine(invocation);
        }
        CommandTree main = new CommandTree();
        return configured(new CommandLine(main).addSubcommand(new RunCommand(invocation, main.store)), invocation);
    }

    /** The complete command line; the test of the manual and the completion script read it, too. */
    public static CommandLine commandLine(Invocation invocation) {
        CommandTree main = new CommandTree();
        List<CommandProvider> providers = providers();
        CommandLine line = new CommandLine(main)
                .addSubcommand(new RunCommand(invocation, main.store))
                .addSubcommand(new ListCommand(invocation, main.store))
                .addSubcommand(new ShowCommand(invocation, main.store))
                .addSubcommand(new WhoCommand(invocation, main.store))
                .addSubcommand(new WatchCommand(invocation, main.store))
                .addSubcommand(new WaitCommand(invocation, main.store))
                .addSubcommand(new ReleaseCommand(invocation, main.store))
                .addSubcommand(new PermitsCommand(invocation, main.store))
                .addSubcommand(new LeaksCommand(invocation, main.store))
                .addSubcommand(new DoctorCommand(invocation, main.store))
                .addSubcommand(new RedlockCommand(invocation, main.store));
        // A lambda that refers to picocli, whose class files have an old format, would be generated at each start.
        for (CommandProvider provider : providers) {
            for (Object command : provider.commands(invocation, main.store)) {
                line.addSubcommand(command);
            }
        }
        if (!line.getSubcommands().containsKey("demo")) {
            line.addSubcommand(new NoDemoCommand());
        }
        line.addSubcommand(new CompletionCommand(invocation))
                .addSubcommand(new WarmUpCommand(providers, arguments -> Main.run(arguments, invocation)));
        return configured(line, invocation);
    }

    private static CommandLine configured(CommandLine line, Invocation invocation) {
        line.setExpandAtFiles(false);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpWidth(80);
        line.setUsageHelpLongOptionsMaxWidth(30);
        line.setOut(invocation.terminal().writer());
        Failures failures = new Failures(invocation);
        line.setParameterExceptionHandler(failures);
        line.setExecutionExceptionHandler(failures);
        line.setExecutionStrategy(new OnlyText(invocation));
        return line;
    }

    private static List<CommandProvider> providers() {
        List<CommandProvider> found = new ArrayList<>();
        for (CommandProvider provider : ServiceLoader.load(CommandProvider.class, CommandTree.class.getClassLoader())) {
            found.add(provider);
        }
        return found;
    }

    @Override
    public void run() {
        String commands = spec.subcommands().values().stream()
                .map(CommandLine::getCommandSpec)
                .filter(command -> !command.usageMessage().hidden())
                .map(CommandSpec::name)
                .collect(Collectors.joining(", "));
        throw new ParameterException(spec.commandLine(), "which command? One of " + commands);
    }

    /**
     * Passes failures to {@link FailureLines}. (Lambdas would keep picocli's interfaces, whose class files have an old
     * format, out of the class-data archive.)
     *
     * @param invocation receives the line
     */
    private record Failures(Invocation invocation) implements IParameterExceptionHandler, IExecutionExceptionHandler {

        @Override
        public int handleParseException(ParameterException problem, String[] arguments) {
            CommandSpec command = problem.getCommandLine().getCommandSpec();
            String why =
                    withoutSecrets(String.valueOf(problem.getMessage()), arguments) + VerbSuggestion.after(problem);
            return told(
                    new Failure(ExitCode.USAGE, why + " (see " + command.qualifiedName() + " --help)"),
                    command,
                    List.of(arguments));
        }

        /**
         * Arguments may contain a store's URI in the wrong place. A secret that is too short to be hidden everywhere is
         * hidden in the arguments.
         */
        private String withoutSecrets(String message, String[] arguments) {
            String safe = message;
            for (String argument : arguments) {
                String shown = argument;
                for (String secret : StoreOption.secrets(argument)) {
                    invocation.terminal().hideAlso(secret);
                    shown = shown.replace(secret, "***");
                }
                safe = shown.equals(argument) ? safe : safe.replace(argument, shown);
            }
            StoreOption.secrets(invocation.environment().getOrDefault(StoreOption.VARIABLE, ""))
                    .forEach(invocation.terminal()::hideAlso);
            return safe;
        }

        @Override
        public int handleExecutionException(Exception thrown, CommandLine line, ParseResult parsed) {
            FailureLines lines = new FailureLines(invocation);
            if (thrown instanceof OutputGoneException gone) {
                return lines.outputGone(gone);
            }
            // An error comes wrapped.
            Throwable cause = thrown.getCause();
            Throwable problem = thrown instanceof ExecutionException && cause != null ? cause : thrown;
            return told(lines.thrown(problem), line.getCommandSpec(), parsed.originalArgs());
        }

        private int told(Failure failure, CommandSpec command, List<String> arguments) {
            FailureLines lines = new FailureLines(invocation);
            return command.userObject() instanceof RunCommand run
                    ? lines.told(failure, run, arguments)
                    : lines.told(failure);
        }
    }

    /**
     * Runs the last subcommand, unless one of the arguments of Leasehold is not text.
     *
     * @param invocation has the arguments as typed
     */
    private record OnlyText(Invocation invocation) implements IExecutionStrategy {

        @Override
        public int execute(ParseResult parsed) {
            List<String> all = parsed.originalArgs();
            TypedWords typed = invocation.typed(all, 0);
            ParseResult last = parsed;
            while (last.hasSubcommand()) {
                last = last.subcommand();
            }
            // The arguments of a command follow it, and are passed on unchanged; RunCommand checks a lock that follows
            // it.
            boolean runs = last.commandSpec().name().equals("run");
            for (int i = 0; i < typed.size() && !(runs && all.get(i).equals("--")); i++) {
                if (!typed.isText(i)) {
                    throw new ParameterException(
                            last.commandSpec().commandLine(), "the argument \"" + all.get(i) + "\" is not valid UTF-8");
                }
            }
            try {
                return new CommandLine.RunLast().execute(parsed);
            } catch (Error e) {
                // Otherwise the process would end with a stack trace and exit code 1, which may mean that a lock is
                // free.
                throw new ExecutionException(last.commandSpec().commandLine(), String.valueOf(e.getMessage()), e);
            }
        }
    }

    /** The version from the archive's manifest. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = CommandTree.class.getPackage().getImplementationVersion();
            return new String[] {"leasehold " + (version == null ? "(development)" : version)};
        }
    }
}
