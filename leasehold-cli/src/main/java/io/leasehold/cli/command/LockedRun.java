package io.leasehold.cli.command;

import io.leasehold.Attempt;
import io.leasehold.Durations;
import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.command.RunReport.Outcome;
import io.leasehold.cli.output.Terminal;
import io.leasehold.cli.process.CommandLookup;
import io.leasehold.cli.process.ForwardedSignal;
import io.leasehold.cli.process.GuardedCommand;
import io.leasehold.cli.process.Preparation;
import io.leasehold.cli.process.SignalForwarder;
import io.leasehold.cli.process.TerminalStop;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One {@code run}: acquires the lock, runs the command under it, releases the lock. For one thread; signals arrive on others.
 *
 * <p>A signal's effect depends on the phase: before the lock is requested, the process ends; during the wait, the attempt is
 * withdrawn; while the command runs, the command receives it; while the lock is only kept ({@code --at-least}), that ends; the wait for the
 * answer to an export ends.
 */
final class LockedRun {

    /**
     * The parameters of a run.
     *
     * @param storeUri the store, including secrets
     * @param lock the lock's name
     * @param take how many permits are taken at once, for a name of permits; 0 for one
     * @param options the options of the lock
     * @param maxWait the patience, or null for no limit
     * @param command the command under the lock
     * @param conflictExitCode the exit code when the lock stays busy
     * @param skipWhenBusy whether a busy lock is not a failure
     * @param atLeast the least time for which the lock is kept
     * @param tickets the ticket that it resumes, and the one that it writes
     * @param metricsPort the port that serves meters, or null for none
     * @param requireContainment whether to refuse if a process of the command could escape
     * @param informs whether a terminal receives information: the holder that the run waits for, the effect of a stop
     */
    record Request(
            String storeUri,
            LockName lock,
            int take,
            LockOptions options,
            @Nullable Duration maxWait,
            GuardedCommand.Settings command,
            int conflictExitCode,
            boolean skipWhenBusy,
            Duration atLeast,
            RunTickets.Options tickets,
            @Nullable Integer metricsPort,
            boolean requireContainment,
            boolean informs) {

        @Override
        public String toString() {
            return "run of " + lock;
        }
    }

    private static final String NOTHING_HELD = "nothing is held";

    private final Request request;
    private final Invocation invocation;
    private final RunReport report;
    private final Consumer<String> notes;
    private final Consumer<String> complaints;
    private final SignalForwarder signals;

    LockedRun(
            Request request,
            Invocation invocation,
            RunReport report,
            Consumer<String> notes,
            Consumer<String> complaints,
            SignalForwarder signals) {
        this.request = request;
        this.invocation = invocation;
        this.report = report;
        this.notes = notes;
        this.complaints = complaints;
        this.signals = signals;
    }

    /** Performs the run; the result is in the report. */
    void run() throws InterruptedException {
        CommandLookup lookup = new CommandLookup(invocation.environment().get("PATH"));
        CommandLookup.Result found = commandIn(lookup);
        if (found instanceof CommandLookup.Result.NotFound none) {
            report.ended(Outcome.NOT_STARTED, ExitCode.NOT_FOUND.code(), none.reason());
            return;
        } else if (found instanceof CommandLookup.Result.NotExecutable refused) {
            report.ended(Outcome.NOT_STARTED, ExitCode.NOT_EXECUTABLE.code(), refused.reason());
            return;
        }
        try {
            run(lookup, RunTickets.open(request.tickets(), request.lock()));
        } catch (IOException e) {
            report.ended(
                    Outcome.INTERNAL,
                    ExitCode.INTERNAL.code(),
                    "cannot start /bin/sh to guard the command: " + e.getMessage());
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    private CommandLookup.Result commandIn(CommandLookup lookup) {
        return lookup.find(request.command().command().texts().get(0));
    }

    private void run(CommandLookup lookup, RunTickets tickets) throws IOException, InterruptedException {
        try (Preparation preparation = Preparation.begin(request.command(), lookup)) {
            if (request.requireContainment() && !mayStart(preparation.await())) {
                return;
            }
            String word = request.command().command().texts().get(0);
            Leasehold.Builder client = StoreAccess.client(invocation, request.storeUri())
                    .label(RunLabel.of(System.getProperty("user.name", ""), word)
                            .text())
                    .defaults(request.options());
            Integer port = request.metricsPort();
            try (MetricsEndpoint endpoint = port == null
                            ? null
                            : MetricsEndpoint.ofRun(port, request.lock().text());
                    LockClient locks = (endpoint == null ? client : client.listener(endpoint.listener())).connect()) {
                if (endpoint != null && Integer.valueOf(0).equals(port)) {
                    // Otherwise the user would not know the address.
                    invocation.terminal().complain(endpoint.address());
                }
                GuardedCommand command = preparation.await();
                if (mayStart(command)) {
                    command.warnings().forEach(notes);
                    command.complainTo(complaints);
                    tickets.check(locks);
                    runUnderLock(locks, tickets, command, lookup);
                }
            }
        }
    }

    /** Reports how the command is contained, and warns if a process may escape; returns whether the command may start. */
    private boolean mayStart(GuardedCommand command) {
        report.contained(command.containment());
        if (command.containment().isComplete()) {
            return true;
        }
        String why =
                "this host offers neither a control group nor a usable perl: a process that clears its environment,"
                        + " starts its own session and loses its parent could outlive the lock";
        if (request.requireContainment()) {
            report.ended(Outcome.NOT_STARTED, ExitCode.UNSAFE.code(), why + "; --require-containment refuses to start");
            return false;
        }
        if (Terminal.leadsToTerminal(2)) {
            notes.accept(why + " (--require-containment would refuse to start)");
        }
        return true;
    }

    private void fail(Throwable problem) {
        report.failed(Failure.of(problem));
    }

    /** Acquires the lock from this client, runs the command under it, and releases the lock. */
    void runUnderLock(LockClient locks, RunTickets tickets, GuardedCommand command, CommandLookup lookup)
            throws InterruptedException {
        if (locks.guarantees().exclusion() == Guarantee.Exclusion.BEST_EFFORT) {
            notes.accept("store " + locks.storeDescription()
                    + " may forget a lock that is held, and two commands may then run at once; see leasehold doctor");
        }
        if (waitsForItself(locks)) {
            report.ended(
                    Outcome.USAGE,
                    ExitCode.USAGE.code(),
                    "this run is inside a run that holds " + RunAttempt.what(request.lock())
                            + ": it would wait for itself");
            return;
        }
        // Before the lock is held: the command may outlive this process by its grace.
        locks.admin().coverChildren().ifPresent(command::tellEndIn);
        long askedAtNanos = System.nanoTime();
        Lease lease;
        try {
            lease = acquire(locks, tickets);
        } finally {
            report.waited(millisSince(askedAtNanos));
        }
        if (lease == null) {
            return;
        }
        long heldAtNanos = System.nanoTime();
        report.held(locks.holderId(), lease.fencingToken());
        lease.onLost(cause -> command.check());
        TimeLeft left =
                TimeLeft.of(lease, request.command().grace(), request.options().ttl());
        ReleaseOutcome ended = null;
        if (runCommand(locks, lease, left, tickets, command, lookup)) {
            keep(lease, left, heldAtNanos);
            ended = tickets.export(locks, lease, request.options().ttl(), report, signals, notes);
        }
        release(lease, ended);
        report.heldFor(millisSince(heldAtNanos));
    }

    /** Removes the ticket of an earlier run; returns false, with a report, if it cannot be removed. */
    private boolean begin(RunTickets tickets) {
        try {
            tickets.begin();
            return true;
        } catch (RuntimeException e) {
            fail(e);
            return false;
        }
    }

    /** Whether this run would wait for a run that waits for it: one of the runs around it holds the lock. */
    private boolean waitsForItself(LockClient locks) {
        String outer = invocation.environment().get(ChildEnvironment.HOLDERS);
        if (outer == null || Duration.ZERO.equals(request.maxWait())) {
            return false;
        }
        List<String> holders = List.of(outer.split(" ", -1));
        try {
            return RunAttempt.isKeptBy(holders, locks.admin(), request.lock(), request.take());
        } catch (LockStoreException e) {
            // The request for the lock waits for the store, and reports the outage.
            return false;
        }
    }

    /** The lease, or null if the report says why there is none. */
    private @Nullable Lease acquire(LockClient locks, RunTickets tickets) throws InterruptedException {
        // Signals are kept until the request can be withdrawn: the end of this process would leave the lock held.
        signals.handTo(null);
        if (signals.first() != null) {
            signalled(NOTHING_HELD);
            return null;
        }
        CompletableFuture<Attempt<Lease>> attempt =
                RunAttempt.begin(locks, tickets, request.lock(), request.take(), request.maxWait());
        signals.handTo(signal -> attempt.cancel(true));
        Attempt<Lease> result;
        try (WaitingLine line = new WaitingLine(locks.admin(), request.lock(), invocation)) {
            result = request.informs() ? line.await(attempt) : attempt.get();
        } catch (CancellationException withdrawn) {
            // A resume that a signal has ended has an unknown outcome.
            signalled(
                    tickets.isResuming()
                            ? RunTickets.afterAnUnknownResume(request.options().ttl())
                            : NOTHING_HELD);
            return null;
        } catch (ExecutionException e) {
            Throwable problem = e.getCause() == null ? e : e.getCause();
            report.failed(tickets.failure(problem, request.options().ttl()));
            return null;
        } finally {
            signals.handTo(null);
        }
        if (result instanceof Attempt.Busy<Lease> busy) {
            reportBusy(busy);
            return null;
        }
        return result.orElseThrow();
    }

    /** Reports a signal, with what is held after it. */
    private void signalled(String end) {
        ForwardedSignal signal = signals.first();
        if (signal == null) {
            report.ended(
                    Outcome.INTERNAL,
                    ExitCode.INTERNAL.code(),
                    "internal error: the attempt was withdrawn without a signal");
            return;
        }
        report.signalled(request.lock(), signal, end);
    }

    /** Reports a signal that came before the command, and releases the lease. */
    private void signalledBefore(Lease lease) {
        signalled(lease.release() == ReleaseOutcome.UNCONFIRMED ? unconfirmed() : NOTHING_HELD);
    }

    private void reportBusy(Attempt.Busy<Lease> busy) {
        String reason = RunAttempt.what(request.lock()) + (request.lock().isPermits() ? " are" : " is") + " busy: "
                + HolderView.sentence(busy.holder()) + "; waited "
                + HolderView.duration(busy.waited());
        report.busy(busy.holder());
        if (request.skipWhenBusy()) {
            report.ended(Outcome.SKIPPED, ExitCode.OK.code(), reason + "; skipped");
        } else {
            report.ended(Outcome.BUSY, request.conflictExitCode(), reason);
        }
    }

    /** Runs the command; returns whether it ran. */
    private boolean runCommand(
            LockClient locks,
            Lease lease,
            TimeLeft left,
            RunTickets tickets,
            GuardedCommand command,
            CommandLookup lookup)
            throws InterruptedException {
        command.awaitReady();
        if (signals.first() != null) {
            signalledBefore(lease);
            return false;
        }
        if (!left.isHeld()) {
            LossCause cause = left.cause();
            report.lost(cause)
                    .ended(
                            Outcome.LOST,
                            ExitCode.LEASE_LOST.code(),
                            lostSentence(cause, false) + " before the command was started");
            return false;
        }
        if (!begin(tickets)) {
            return false;
        }
        GuardedCommand.Ended ended;
        try (TerminalStop stops = StoppedLine.tell(request, left, command, notes)) {
            command.start(
                    ChildEnvironment.of(
                            lease, left, locks.holderId(), request.options().ttl(), invocation.environment()),
                    left);
            signals.handTo(command::deliver, command::deliverKept);
            ended = command.await();
        } catch (IOException e) {
            if (signals.first() == null) {
                notStarted(StartFailure.of(e, commandIn(lookup)));
            } else {
                // Ctrl-C also ends the helper by which the JVM starts programs.
                signalledBefore(lease);
            }
            return false;
        }
        signals.handTo(null);
        return reportEnd(left, ended, lookup);
    }

    /** Reports how the command ended; returns whether it ran. */
    private boolean reportEnd(TimeLeft left, GuardedCommand.Ended ended, CommandLookup lookup) {
        Failure vanished = ended.endedForLease() ? null : StartFailure.behind(ended.exitCode(), commandIn(lookup));
        if (vanished != null) {
            notStarted(vanished);
            return false;
        }
        report.commandEnded(ended.exitCode(), ended.leftBehind());
        boolean isHeld = left.isHeld();
        if (ended.unguarded() && isHeld) {
            report.ended(
                    Outcome.INTERNAL,
                    ExitCode.INTERNAL.code(),
                    "the guardian was killed and could not be restarted, so the command was ended (exit code "
                            + ended.exitCode() + ")");
        } else if (ended.endedForLease() || !isHeld) {
            reportLost(left.cause(), isHeld, ended);
        } else {
            report.ended(Outcome.COMPLETED, ended.exitCode(), leftBehind(ended.leftBehind()));
        }
        return true;
    }

    private void notStarted(Failure failure) {
        Outcome outcome = failure.code() == ExitCode.INTERNAL ? Outcome.INTERNAL : Outcome.NOT_STARTED;
        report.ended(outcome, failure.code().code(), failure.reason());
    }

    private void reportLost(@Nullable LossCause cause, boolean isHeld, GuardedCommand.Ended ended) {
        String what = switch (request.command().onLost()) {
            case IGNORE -> "; the command continued without the lock (--on-lost=ignore)";
            default ->
                ended.survivors().isEmpty()
                        ? "; the command was ended"
                        : "; what it started could not be killed and runs on: process "
                                + String.join(
                                        ", ",
                                        ended.survivors().stream()
                                                .map(String::valueOf)
                                                .toList());
        };
        report.lost(cause)
                .ended(
                        Outcome.LOST,
                        ExitCode.LEASE_LOST.code(),
                        lostSentence(cause, isHeld) + " while the command ran" + what + " (its exit code: "
                                + ended.exitCode() + ")");
    }

    private String lostSentence(@Nullable LossCause cause, boolean isHeld) {
        String lock = "lease on \"" + request.lock() + "\"";
        if (cause != null) {
            return lock + " was lost (" + cause + ")";
        }
        return isHeld ? lock + " could not be renewed in time" : lock + " ended";
    }

    private static @Nullable String leftBehind(int processes) {
        return processes == 0
                ? null
                : "the command left " + processes + (processes == 1 ? " process" : " processes")
                        + " behind, which would have run on without the lock; ended";
    }

    /** Keeps the lock until {@code --at-least} has passed; a signal ends that, too. */
    private void keep(Lease lease, TimeLeft left, long heldAtNanos) throws InterruptedException {
        long leftNanos = request.atLeast().toNanos() - (System.nanoTime() - heldAtNanos);
        if (leftNanos <= 0 || left.nanos() <= 0) {
            return;
        }
        CountDownLatch signalled = new CountDownLatch(1);
        lease.onLost(cause -> signalled.countDown());
        signals.handTo(signal -> signalled.countDown());
        signalled.await(leftNanos, TimeUnit.NANOSECONDS);
    }

    private void release(Lease lease, @Nullable ReleaseOutcome ended) {
        ReleaseOutcome outcome = ended == null ? lease.release() : ended;
        report.released(outcome);
        String lock = RunAttempt.what(request.lock());
        if (report.reason() == null && outcome == ReleaseOutcome.ALREADY_LOST) {
            report.remark(lock + " was lost after the command had ended");
        } else if (report.reason() == null && outcome == ReleaseOutcome.UNCONFIRMED) {
            report.remark(lock + ": " + unconfirmed());
        }
    }

    private String unconfirmed() {
        return "the store did not confirm the release; it is free within "
                + Durations.text(request.options().ttl());
    }

    private static long millisSince(long atNanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - atNanos);
    }
}
