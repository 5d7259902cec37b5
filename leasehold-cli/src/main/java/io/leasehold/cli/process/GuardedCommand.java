package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One command, from its start under a lease until none of its processes is left.
 *
 * <p><b>Guarantee.</b> All its processes that {@link ProcessTree} can see are dead before the validity ends, even if this
 * process is stopped or killed ({@link Guardian}). The exceptions are a pause of the whole machine, and a simultaneous kill of
 * this process and the guardian.
 *
 * <p>With a terminal the command stays in our process group, so that the keyboard reaches it and job control works;
 * without one it leads its own session, which can be signalled as a whole.
 *
 * <p><b>Threads.</b> For one thread; any thread may deliver signals.
 */
public final class GuardedCommand implements AutoCloseable {

    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long KILL_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Settings settings;
    private final boolean hasTerminal;
    private final SessionStarter sessions;
    private final RunMark mark = RunMark.create();
    private final Signals signals = new Signals();
    private final ExactStart starts;
    private final Enclosure enclosure;
    private final @Nullable ControlGroup group;
    private final Guardian guardian;
    private volatile Consumer<String> complaints = line -> {};
    private @Nullable SignalWitness witness;
    private @Nullable StartedCommand command;
    private @Nullable StartMoment moment;
    private long forgottenAtNanos = System.nanoTime();
    private @Nullable ProcessTree tree;
    private @Nullable LossWatch watch;
    private @Nullable StrayWatch strays;
    private @Nullable RemainingTime remaining;
    private @Nullable CompletableFuture<Void> removal;

    /**
     * The settings of a command.
     *
     * @param command the command and its arguments
     * @param onLost the action when its lease runs out
     * @param grace between TERM and the end of the validity
     * @param ttl the lease's
     * @param strongest the strongest way to use for containing its processes
     */
    public record Settings(TypedWords command, OnLost onLost, Duration grace, Duration ttl, Containment strongest) {}

    /**
     * How a command ended.
     *
     * @param exitCode its own, or 128 + n after signal n
     * @param endedForLease whether it was asked to end, or killed, because its lease ran out
     * @param leftBehind the number of processes that it left behind, which were ended
     * @param survivors the processes that could not be killed and lived when the validity ended
     * @param unguarded whether it was asked to end, or killed, because no guardian would have ended it after this process's death
     */
    public record Ended(int exitCode, boolean endedForLease, int leftBehind, List<Long> survivors, boolean unguarded) {
        /** Copies the list. */
        public Ended {
            survivors = List.copyOf(survivors);
        }
    }

    private GuardedCommand(Settings settings, boolean hasTerminal, CommandLookup lookup) throws IOException {
        this.settings = settings;
        this.hasTerminal = hasTerminal;
        this.sessions = SessionStarter.find(lookup);
        this.starts = ExactStart.find(lookup);
        this.enclosure = Enclosure.make(settings.strongest(), mark, starts);
        this.group = enclosure instanceof Enclosure.Group enclosed ? enclosed.group() : null;
        this.guardian = guardian();
        this.witness = hasTerminal ? SignalWitness.start() : null;
    }

    private Guardian guardian() throws IOException {
        try {
            return Guardian.start(mark, settings.grace(), sessions, group);
        } catch (IOException | RuntimeException | Error none) {
            if (group != null) {
                group.remove();
            }
            throw none;
        }
    }

    /**
     * Prepares the command; it does not run yet.
     *
     * @throws IOException if no guardian can be started: then nothing would end the command if this process were killed
     */
    public static GuardedCommand prepare(Settings settings, CommandLookup lookup) throws IOException {
        return prepare(settings, ControllingTerminal.exists(), lookup);
    }

    /** The same with or without a terminal. */
    static GuardedCommand prepare(Settings settings, boolean hasTerminal, CommandLookup lookup) throws IOException {
        return new GuardedCommand(settings, hasTerminal, lookup);
    }

    /** The containment of the command's processes. */
    public Containment containment() {
        return enclosure.way();
    }

    /** The file that tells a store that no process of the command is left, if this process dies first. */
    public void tellEndIn(Path file) {
        guardian.life(file);
    }

    /** Warnings for the operator about this system, one line each. */
    public List<String> warnings() {
        return sessions.works()
                ? List.of()
                : List.of("found neither setsid nor perl, so the guardian shares this process group: a SIGKILL to the"
                        + " group would leave the command running");
    }

    /** Sets the receiver of a line for each process of the command that can be neither signalled nor killed. */
    public void complainTo(Consumer<String> complaints) {
        this.complaints = complaints;
    }

    /**
     * Waits until a signal to the whole group of this process can be distinguished from one to this process alone. This
     * is the last chance to leave: a signal that comes after {@link #start} is for the command.
     */
    public void awaitReady() {
        if (witness != null) {
            witness.awaitReady();
        }
    }

    /**
     * Starts the command.
     *
     * @param remainingTime the time that its lease leaves
     * @throws IOException if it cannot be started
     */
    public void start(Map<String, @Nullable String> environment, RemainingTime remainingTime) throws IOException {
        boolean ownSession = !hasTerminal && sessions.works();
        if (settings.onLost() != OnLost.IGNORE) {
            long now = guardian.now();
            guardian.deadline(
                    now,
                    remainingTime.nanos()
                            - LossWatch.guardianLead(settings.ttl()).toNanos());
        }
        try {
            startUnderGuard(environment, remainingTime, ownSession);
        } catch (RuntimeException | Error failed) {
            endAll();
            throw failed;
        }
    }

    private void startUnderGuard(
            Map<String, @Nullable String> environment, RemainingTime remainingTime, boolean ownSession)
            throws IOException {
        awaitReady();
        // A signal that came before did not reach the command.
        if (witness != null) {
            forgottenAtNanos = System.nanoTime();
            witness.forget();
        }
        ProcessTable table = ProcessTable.ofThisSystem();
        long fromUptime = guardian.now();
        long fromNanos = System.nanoTime();
        StartedCommand started = StartedCommand.start(
                enclosure, starts, sessions, ownSession, settings.command(), mark, environment, table);
        moment = new StartMoment(
                fromNanos, System.nanoTime(), fromUptime, guardian.now(), Guardian.start(started.pid(), table));
        ProcessTree all = new ProcessTree(table, signals, mark, started, group);
        tree = all;
        guardian.command(started, table);
        LossWatch lossWatch = new LossWatch(
                remainingTime,
                settings.onLost(),
                settings.grace(),
                settings.ttl(),
                all,
                guardian,
                started::isAdopterGone,
                refusing -> complainOf("TERM", refusing));
        StrayWatch strayWatch = new StrayWatch(all, guardian, enclosure.way());
        remaining = remainingTime;
        command = started;
        watch = lossWatch;
        strays = strayWatch;
        guardian.onEnd(lossWatch::check);
        started.onAdopterEnd(lossWatch::check);
        lossWatch.start();
        strayWatch.start();
    }

    /**
     * Passes a signal on, unless it went to the whole group of this process and therefore to the command.
     *
     * @param atNanos when it came, by the monotonic clock
     */
    public void deliver(ForwardedSignal signal, long atNanos) {
        SignalWitness others = witness;
        if (others == null || !others.wentToGroup(signal, atNanos)) {
            passOn(signal);
        }
    }

    /** The same for a signal that was kept until this call, and may have come before the command. */
    public void deliverKept(ForwardedSignal signal, long atNanos) {
        SignalWitness others = witness;
        StartMoment start = moment;
        // An earlier one was forgotten by the witness, which would take the record of a later one for it, and would
        // then not know the later one.
        boolean isForgotten = atNanos - forgottenAtNanos < 0;
        boolean wentToGroup = !isForgotten && others != null && others.wentToGroup(signal, atNanos);
        if (!wentToGroup || (start != null && start.mayFollow(atNanos))) {
            passOn(signal);
        }
    }

    private void passOn(ForwardedSignal signal) {
        ProcessTree all = tree;
        if (all == null) {
            return;
        }
        List<Long> refusing = List.of();
        try {
            refusing = signal.forAll() ? all.signalAll(signal.name()) : all.signalRoot(signal.name());
        } catch (IOException noProcess) {
            // No process can be started now; TERM and KILL need none.
            if (signal == ForwardedSignal.TERM) {
                refusing = all.terminate();
            }
        }
        complainOf(signal.name(), refusing);
    }

    private void complainOf(String signal, List<Long> refusing) {
        if (!refusing.isEmpty()) {
            complaints.accept(cannotSignal(signal, refusing));
        }
    }

    static String cannotSignal(String signal, List<Long> processes) {
        return "SIG" + signal + " could not be sent to process " + listed(processes)
                + (processes.size() == 1 ? ", which runs as another user" : ", which run as another user");
    }

    /** Sends the current end of the lease to the guardian, which otherwise gets it at the next check. */
    public void tellDeadline() {
        LossWatch lossWatch = watch;
        if (lossWatch != null) {
            lossWatch.tellDeadline();
        }
    }

    /** The lease may have ended: checks at once. */
    public void check() {
        LossWatch lossWatch = watch;
        if (lossWatch != null) {
            lossWatch.check();
        }
    }

    /**
     * Waits until the command has ended with all processes that must not remain. While a process cannot be killed, the wait
     * lasts as long as the lease is valid: no other client may have the lock while that process lives.
     */
    public Ended await() throws InterruptedException {
        try {
            return awaitEnd();
        } catch (InterruptedException | RuntimeException | Error failed) {
            endAll();
            throw failed;
        }
    }

    /** After a failure the command is no longer watched: the lock is kept until none of its processes is left. */
    private void endAll() {
        if (watch != null) {
            watch.dismiss();
        }
        if (strays != null) {
            strays.stop();
        }
        try {
            if (tree != null) {
                tree.kill(KILL_PATIENCE_NANOS);
            }
        } finally {
            guardian.endAll();
        }
    }

    private Ended awaitEnd() throws InterruptedException {
        StartedCommand running = started(command);
        ProcessTree all = started(tree);
        LossWatch lossWatch = started(watch);
        int exitCode = running.await();
        int leftBehind = 0;
        if (lossWatch.action() == LossWatch.Action.NONE && !guardian.fired() && settings.onLost() != OnLost.IGNORE) {
            leftBehind = endLeftBehind(all, lossWatch);
        }
        // Even if the lease ran out while the rest was being ended: a stopped watch would not kill it.
        awaitNone(all, lossWatch);
        lossWatch.stop();
        boolean endedForLease = lossWatch.action() != LossWatch.Action.NONE || guardian.fired();
        if (!endedForLease) {
            // No later deadline follows, and the remaining processes may stay.
            guardian.noDeadline();
        }
        List<Long> survivors = endedForLease ? awaitSurvivors(all) : List.of();
        if (group != null) {
            // The kernel takes its time for that, and meanwhile the lock is released.
            removal = removed(group);
        }
        return new Ended(exitCode, endedForLease, leftBehind, survivors, lossWatch.unguarded());
    }

    /** Removes the group on another thread; null if none can be started. */
    private static @Nullable CompletableFuture<Void> removed(ControlGroup group) {
        try {
            return CompletableFuture.runAsync(group::remove, work -> new Thread(work, "leasehold-cgroup").start());
        } catch (OutOfMemoryError noThread) {
            return null;
        }
    }

    /** The processes that live when the validity has ended. */
    private List<Long> awaitSurvivors(ProcessTree tree) {
        boolean complained = false;
        while (true) {
            List<Long> survivors = tree.alive();
            if (survivors.isEmpty() || started(remaining).nanos() <= 0) {
                return survivors;
            }
            if (!complained) {
                complained = true;
                complaints.accept(cannotKill(survivors));
            }
            tree.kill(POLL_NANOS);
        }
    }

    private static String cannotKill(List<Long> processes) {
        return "cannot kill what the command started: process " + listed(processes)
                + "; the lock is kept while it runs and the lease can be renewed";
    }

    private static String listed(List<Long> processes) {
        return String.join(", ", processes.stream().map(String::valueOf).toList());
    }

    private static <T> T started(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("the command was not started");
        }
        return part;
    }

    /**
     * After TERM for the lease: the rest may use its grace, and is then killed. The watch kills it before the lease ends,
     * but a lease that is renewed after all does not end: the rest would keep the lock forever.
     */
    private void awaitNone(ProcessTree tree, LossWatch watch) {
        long startedAtNanos = System.nanoTime();
        while (watch.action() == LossWatch.Action.TERMINATED && !tree.alive().isEmpty()) {
            if (System.nanoTime() - startedAtNanos >= settings.grace().toNanos()) {
                tree.kill(KILL_PATIENCE_NANOS);
                return;
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /**
     * Ends the processes that the command left in its session, which would run on without the lock. They first may end by
     * themselves, as the reader of a pipe does; then they receive TERM, and after the grace KILL.
     */
    private int endLeftBehind(ProcessTree tree, LossWatch watch) {
        long session = tree.sessionOfRoot();
        if (awaitNoneInSession(tree, session, SETTLE_NANOS)) {
            return 0;
        }
        List<ProcessHandle> left = tree.membersInSession(session);
        left.forEach(ProcessHandle::destroy);
        if (watch.action() == LossWatch.Action.NONE
                && !awaitNoneInSession(tree, session, settings.grace().toNanos())) {
            long startedAtNanos = System.nanoTime();
            boolean complained = false;
            List<ProcessHandle> stubborn = tree.membersInSession(session);
            while (!stubborn.isEmpty() && watch.action() == LossWatch.Action.NONE && !guardian.fired()) {
                stubborn.forEach(ProcessHandle::destroyForcibly);
                LockSupport.parkNanos(POLL_NANOS);
                stubborn = tree.membersInSession(session);
                if (!complained && !stubborn.isEmpty() && System.nanoTime() - startedAtNanos > KILL_PATIENCE_NANOS) {
                    complained = true;
                    complaints.accept(cannotKill(ProcessTree.pids(stubborn)));
                }
            }
        }
        return left.size();
    }

    private static boolean awaitNoneInSession(ProcessTree tree, long session, long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        while (!tree.membersInSession(session).isEmpty()) {
            if (System.nanoTime() - startedAtNanos >= patienceNanos) {
                return false;
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        return true;
    }

    /** Dismisses the guardian; to be called after the release of the lease. */
    @Override
    public void close() {
        if (witness != null) {
            witness.close();
            witness = null;
        }
        if (strays != null) {
            strays.stop();
        }
        guardian.close();
        if (command != null) {
            command.close();
        }
        if (removal != null) {
            removal.join();
        }
        if (group != null) {
            // Again, if a process that was allowed to stay was still in it.
            group.remove();
        }
    }
}
