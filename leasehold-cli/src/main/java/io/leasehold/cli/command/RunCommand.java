package io.leasehold.cli.command;

import io.leasehold.Durations;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.cli.DurationConverter;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.Containment;
import io.leasehold.cli.process.ForwardedSignal;
import io.leasehold.cli.process.GuardedCommand;
import io.leasehold.cli.process.OnLost;
import io.leasehold.cli.process.SignalForwarder;
import io.leasehold.cli.process.TypedWords;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold run}: checks the options; {@link LockedRun} does the work. */
@Command(
        name = "run",
        header = "Runs COMMAND while holding LOCK, and then releases the lock.",
        description = {"Waits for a busy lock without limit unless told otherwise.%n"},
        customSynopsis = "leasehold run [options] LOCK -- COMMAND ARGS…",
        sortOptions = false,
        usageHelpAutoWidth = false,
        footer = {
            "%nDUR is a duration: 30s, 1.5s, 500ms, 2m, 1h.",
            "Exit code: the command's own, or 64 usage, 69 store unavailable, 70 internal",
            "error, 75 busy, 76 lease lost, 77 access refused, 78 unsafe store,",
            "126 not executable, 127 not found, 128+n ended by signal n."
        })
public final class RunCommand implements Callable<Integer> {

    /** A command may run for any time: its end bounds the hold. */
    private static final Duration MAX_HOLD = Duration.ofDays(3650);

    private static final Duration DEFAULT_GRACE = Duration.ofSeconds(10);
    private static final int MAX_EXIT_CODE = 255;
    private static final String JSON = "--json";

    /** The action when the lock stays busy. */
    public enum OnBusy {
        /** Exit with the conflict code. */
        FAIL,
        /** Exit with 0. */
        SKIP
    }

    private final Invocation invocation;
    private final StoreOption store;

    /** Null where {@link PlainRun} has read the arguments. */
    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = {"-n", "--no-wait"},
            description = "Does not wait for a busy lock.")
    boolean noWait;

    @Option(
            names = {"-w", "--wait"},
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Waits at most this long.")
    @Nullable
    Duration wait;

    @Option(
            names = "--on-busy",
            paramLabel = "fail|skip",
            description = "Exits 75 (fail) or 0 (skip) if it stays busy.")
    @Nullable
    OnBusy onBusy;

    @Option(
            names = {"-E", "--conflict-exit-code"},
            paramLabel = "N",
            description = "Exits with N if it stays busy.")
    @Nullable
    Integer conflictExitCode;

    @Option(
            names = "--ttl",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Sets how long the lease lasts without renewal (30s).")
    @Nullable
    Duration ttl;

    @Option(
            names = "--on-lost",
            paramLabel = "WHAT",
            description = "On loss sends TERM, KILL or nothing (term|kill|ignore).")
    OnLost onLost = OnLost.TERM;

    @Option(
            names = "--grace",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Sends TERM this long before the end (10s, ≤ ttl/3).")
    @Nullable
    Duration grace;

    @Option(
            names = "--at-least",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Holds the lock at least this long.")
    Duration atLeast = Duration.ZERO;

    @Option(names = "--export", paramLabel = "FILE", description = "Keeps the lock and writes a ticket to FILE.")
    @Nullable
    String export;

    @Option(
            names = "--claim",
            paramLabel = "DUR",
            converter = DurationConverter.class,
            description = "Keeps the lock this long for the ticket (2m, or the store's largest ttl).")
    @Nullable
    Duration claim;

    @Option(names = "--resume", paramLabel = "FILE", description = "Resumes the ticket in FILE (- is standard input).")
    @Nullable
    String resume;

    @Option(names = "--permit", paramLabel = "K", description = "Takes one of K permits of that name, not the lock.")
    @Nullable
    Integer permit;

    @Option(names = "--take", paramLabel = "N", description = "With --permit: takes N permits at once, all or none.")
    @Nullable
    Integer take;

    @Option(names = "--read", description = "Shares the lock with other readers; a run without it waits for all.")
    boolean read;

    @Option(names = "--metrics", paramLabel = "PORT", description = "Serves metrics at 127.0.0.1:PORT/metrics.")
    @Nullable
    Integer metricsPort;

    @Option(names = "--require-containment", description = "Refuses to start if a process could escape.")
    boolean requireContainment;

    @Option(names = JSON, description = "Reports as JSON on standard error.")
    boolean json;

    @Option(
            names = {"-q", "--quiet"},
            description = "Prints warnings and errors only.")
    boolean quiet;

    @Parameters(index = "0", arity = "0..1", paramLabel = "LOCK", hidden = true)
    @Nullable
    String lock;

    @Parameters(index = "1..*", arity = "0..*", paramLabel = "COMMAND", hidden = true)
    @Nullable
    List<String> command;

    /** A command of this invocation. */
    public RunCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() throws InterruptedException {
        CommandSpec parsed = Objects.requireNonNull(spec);
        return run(request(parsed.root().commandLine().getParseResult().originalArgs()));
    }

    int run(LockedRun.Request request) throws InterruptedException {
        SignalForwarder signals = SignalForwarder.install();
        RunReport report = new RunReport(request.lock().text());
        signals.handTo(signal -> leaveAtOnce(signal, request, report));
        Terminal terminal = invocation.terminal();
        terminal.hide(StoreOption.secrets(request.storeUri()));
        new LockedRun(request, invocation, report, this::note, this::complain, signals).run();
        tell(report);
        return report.exitCode();
    }

    /** Whether the output is for a script; works even if the options cannot be parsed. */
    public static boolean wantsJson(String... arguments) {
        for (String argument : arguments) {
            if (argument.equals("--")) {
                return false;
            } else if (argument.equals(JSON)) {
                return true;
            }
        }
        return false;
    }

    /** Reports wrong options, or a failure of Leasehold itself, as JSON. */
    public void report(Failure failure) {
        RunReport report = new RunReport(lock == null ? "" : lock).failed(failure);
        invocation.terminal().reportJson(report.json());
    }

    private void note(String line) {
        if (!quiet && !json) {
            invocation.terminal().complain(line);
        }
    }

    private void complain(String line) {
        if (!json) {
            invocation.terminal().complain(line);
        }
    }

    private void tell(RunReport report) {
        String reason = report.reason();
        if (json) {
            invocation.terminal().reportJson(report.json());
        } else if (reason != null && !(quiet && report.reasonIsNote())) {
            invocation.terminal().complain(reason);
        }
    }

    /** Before the lock is requested there is nothing to release, and a store may take long to answer. */
    private void leaveAtOnce(ForwardedSignal signal, LockedRun.Request request, RunReport report) {
        report.signalled(request.lock(), signal, "nothing is held");
        tell(report);
        Runtime.getRuntime().halt(report.exitCode());
    }

    /**
     * The run that these options describe.
     *
     * @param arguments all arguments of the program
     * @throws ParameterException if they make no sense; {@link IllegalArgumentException} if picocli has not read them
     */
    LockedRun.Request request(List<String> arguments) {
        String name = lock;
        TypedWords words = command(arguments);
        if (name == null || words.size() == 0) {
            throw usage("write: leasehold run [options] LOCK -- COMMAND ARGS…");
        }
        if (metricsPort != null) {
            checkedPort(metricsPort);
        }
        LockOptions options = options();
        Duration patience = patience();
        Duration usedGrace = usedGrace(options);
        if (onLost != OnLost.IGNORE && usedGrace.compareTo(options.minimumValidity()) > 0) {
            // A lease that arrives with less than the grace would end the command as soon as it starts.
            options = options.minimumValidity(usedGrace);
        }
        return new LockedRun.Request(
                storeUri(),
                lockName(name),
                take == null ? 0 : take,
                options,
                patience,
                new GuardedCommand.Settings(words, onLost, usedGrace, options.ttl(), strongest()),
                conflictCode(),
                onBusy == OnBusy.SKIP,
                atLeast,
                tickets(),
                metricsPort,
                requireContainment,
                !quiet && !json);
    }

    private RunTickets.Options tickets() {
        if (claim != null && export == null) {
            throw usage("--claim needs --export: it is how long the lock is kept for the ticket");
        }
        if (TicketFile.STANDARD_INPUT.equals(export)) {
            throw usage("--export needs a file: standard output belongs to the command");
        }
        if (read && (permit != null || export != null || resume != null)) {
            throw usage(
                    "--read excludes --permit, --export and --resume: only a lock has readers, and a ticket is for its"
                            + " writer");
        }
        if (take != null && permit == null) {
            throw usage("--take needs --permit: it is how many of the permits are taken");
        }
        if (take != null && permit != null && (take < 1 || take > permit)) {
            throw usage("--take is " + take + "; it must be from 1 to the " + permit + " permits of --permit");
        }
        if (permit != null && (export != null || resume != null)) {
            throw usage("--permit excludes --export and --resume: a ticket is for a lock");
        }
        if (resume != null && onBusy != null) {
            throw usage("--on-busy and --resume exclude each other: a ticket does not wait for a holder");
        }
        if (claim != null && claim.toMillis() < 1) {
            throw usage("--claim is " + Durations.text(claim) + "; it must be at least 1ms");
        }
        return new RunTickets.Options(resume, export, claim);
    }

    private String storeUri() {
        try {
            return store.uri(invocation.environment());
        } catch (IllegalArgumentException e) {
            throw usage(e.getMessage());
        }
    }

    private Containment strongest() {
        return Containment.strongest(invocation.environment().get(Containment.VARIABLE))
                .orElseThrow(() -> usage(Containment.VARIABLE + " must be cgroup, reaper or remembered"));
    }

    /**
     * The arguments after the first {@code --}; without it, an option of the command could be mistaken for one of
     * {@code run}.
     */
    private TypedWords command(List<String> all) {
        List<String> given = command == null ? List.of() : command;
        int dashes = all.indexOf("--");
        if (dashes < 0 && !given.isEmpty()) {
            throw usage("put -- before the command: leasehold run " + lock + " -- " + String.join(" ", given));
        }
        List<String> words = dashes < 0 ? List.of() : all.subList(dashes + 1, all.size());
        // A lock whose name begins with a dash needs a separate -- before it: run -- -x -- COMMAND.
        boolean lockBehindDashes =
                words.size() > 1 && words.get(0).equals(lock) && words.get(1).equals("--");
        if (lockBehindDashes && given.equals(words.subList(1, words.size()))) {
            if (!invocation.typed(all, dashes + 1).isText(0)) {
                throw usage("the argument \"" + lock + "\" is not valid UTF-8");
            }
            return invocation.typed(all, dashes + 3);
        }
        if (!words.equals(given) && lock != null) {
            throw usage("one lock, then -- and the command: leasehold run [options] LOCK -- COMMAND ARGS…");
        }
        return dashes < 0 ? TypedWords.ofTexts(List.of()) : invocation.typed(all, dashes + 1);
    }

    private void checkedPort(int port) {
        try {
            WatchCommand.checkedPort(port);
        } catch (IllegalArgumentException e) {
            throw usage(e.getMessage());
        }
    }

    private LockName lockName(String name) {
        try {
            LockName exact = LockName.exactly(name);
            if (read) {
                return exact.asRead();
            }
            return permit == null ? exact : exact.asPermits(permit);
        } catch (IllegalArgumentException e) {
            throw usage(e.getMessage());
        }
    }

    private LockOptions options() {
        try {
            LockOptions options = LockOptions.defaults().maxHold(MAX_HOLD);
            return ttl == null ? options : options.ttl(ttl);
        } catch (IllegalArgumentException e) {
            throw usage("--ttl: " + e.getMessage());
        }
    }

    private @Nullable Duration patience() {
        if (noWait && wait != null) {
            throw usage("--no-wait and --wait exclude each other");
        }
        if (onBusy != null && !noWait && wait == null) {
            throw usage("--on-busy needs --no-wait or --wait: without them the lock is waited for without limit");
        }
        return noWait ? Duration.ZERO : wait;
    }

    private Duration usedGrace(LockOptions options) {
        // Not dividedBy: see Durations.part.
        Duration third = Duration.ofNanos(options.ttl().toNanos() / 3);
        if (grace == null) {
            return third.compareTo(DEFAULT_GRACE) < 0 ? third : DEFAULT_GRACE;
        }
        if (onLost != OnLost.IGNORE && grace.compareTo(options.longestUnrenewed()) > 0) {
            throw usage("--grace is " + Durations.text(grace) + "; with a ttl of " + Durations.text(options.ttl())
                    + " a healthy lease may have only " + Durations.text(options.longestUnrenewed())
                    + " left before a renewal: take a longer --ttl");
        }
        return grace;
    }

    private int conflictCode() {
        if (conflictExitCode == null) {
            return ExitCode.BUSY.code();
        }
        if (onBusy == OnBusy.SKIP) {
            throw usage("--conflict-exit-code and --on-busy=skip exclude each other: skip exits 0");
        }
        if (conflictExitCode < 0 || conflictExitCode > MAX_EXIT_CODE) {
            throw usage("--conflict-exit-code is " + conflictExitCode + "; it must be between 0 and " + MAX_EXIT_CODE);
        }
        return conflictExitCode;
    }

    private RuntimeException usage(@Nullable String message) {
        String text = String.valueOf(message);
        return spec == null ? new IllegalArgumentException(text) : ByPicocli.refusal(spec, text);
    }

    /** A class of its own, because to verify it the JVM loads picocli, which a plain run does without. */
    private static final class ByPicocli {
        static RuntimeException refusal(CommandSpec spec, String text) {
            return new ParameterException(spec.commandLine(), text);
        }
    }
}
