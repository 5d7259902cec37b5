package io.leasehold.cli.process;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One command, from its start under a lease until nothing of it is left.
 *
 * <p><b>Guarantee.</b> What it started is dead before the validity ends, as far as {@link ProcessTree} can see it; also if
 * this process is stopped or killed ({@link Guardian}). Only a pause of the whole machine, or a kill of this process and
 * of the guardian at once, goes beyond that.
 *
 * <p>With a terminal the command stays in our process group, so that the keyboard reaches it and job control works;
 * without one it is the leader of its own session, which can be signalled as a whole.
 *
 * <p><b>Threads.</b> For one thread; the receiver of signals may be called by any.
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
    private final Guardian guardian;
    private @Nullable SignalWitness witness;
    private @Nullable Process process;
    private @Nullable ProcessTree tree;
    private @Nullable LossWatch watch;

    /**
     * How a command is run.
     *
     * @param command the command and its arguments
     * @param onLost what happens to it when its lease runs out
     * @param grace between TERM and the end of the validity
     * @param ttl the lease's
     */
    public record Settings(List<String> command, OnLost onLost, Duration grace, Duration ttl) {
        /** Copies the command. */
        public Settings {
            command = List.copyOf(command);
        }
    }

    /**
     * How a command ended.
     *
     * @param exitCode its own, or 128 + n after signal n
     * @param endedForLease whether it was asked to end, or killed, because its lease ran out
     * @param leftBehind how many processes it left behind, which were ended
     * @param survivors whether something could not be killed
     */
    public record Ended(int exitCode, boolean endedForLease, int leftBehind, boolean survivors) {}

    private GuardedCommand(Settings settings, boolean hasTerminal, SessionStarter sessions) throws IOException {
        this.settings = settings;
        this.hasTerminal = hasTerminal;
        this.sessions = sessions;
        this.guardian = Guardian.start(mark, settings.grace(), sessions);
        this.witness = hasTerminal ? SignalWitness.start() : null;
    }

    /**
     * Makes everything ready; the command does not run yet.
     *
     * @throws IOException if no guardian can be started: then nothing would end the command if this process were killed
     */
    public static GuardedCommand prepare(Settings settings, CommandLookup lookup) throws IOException {
        return new GuardedCommand(settings, ControllingTerminal.exists(), SessionStarter.find(lookup));
    }

    /** Where a store is told that nothing of the command is left, should this process die before it. */
    public void tellEndIn(Path file) {
        guardian.life(file);
    }

    /** What the person who starts it should know about this system, one line each. */
    public List<String> warnings() {
        return sessions.works()
                ? List.of()
                : List.of(
                        "neither setsid nor perl is here: signals to this process group reach the guardian, too, so the"
                                + " command may outlive a SIGKILL of leasehold");
    }

    /**
     * Starts the command.
     *
     * @param remainingNanos tells at any time how much validity is left
     * @throws IOException if it cannot be started
     */
    public void start(Map<String, @Nullable String> environment, LongSupplier remainingNanos) throws IOException {
        boolean ownSession = !hasTerminal && sessions.works();
        List<String> command = ownSession ? sessions.inOwnSession(settings.command()) : settings.command();
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        environment.forEach((name, value) -> {
            if (value == null) {
                builder.environment().remove(name);
            } else {
                builder.environment().put(name, value);
            }
        });
        mark.addTo(builder.environment());
        if (settings.onLost() != OnLost.IGNORE) {
            long now = guardian.now();
            guardian.deadline(
                    now,
                    remainingNanos.getAsLong()
                            - LossWatch.guardianLead(settings.ttl()).toNanos());
        }
        Process started = builder.start();
        guardian.command(started.pid(), ownSession);
        ProcessTree all = new ProcessTree(ProcessTable.ofThisSystem(), signals, mark, started.toHandle(), ownSession);
        LossWatch lossWatch =
                new LossWatch(remainingNanos, settings.onLost(), settings.grace(), settings.ttl(), all, guardian);
        process = started;
        tree = all;
        watch = lossWatch;
        lossWatch.start();
    }

    /** Passes a signal on; where it went to our whole group, the command has had it already. */
    public void deliver(ForwardedSignal signal) {
        SignalWitness others = witness;
        ProcessTree all = tree;
        if (all == null || (others != null && others.wentToGroup(signal))) {
            return;
        }
        try {
            if (signal.forAll()) {
                all.signalAll(signal.name());
            } else {
                all.signalRoot(signal.name());
            }
        } catch (IOException noProcess) {
            // No process can be started now; TERM and KILL need none.
            if (signal == ForwardedSignal.TERM) {
                all.terminate();
            }
        }
    }

    /** The lease may have ended: look at once. */
    public void look() {
        LossWatch lossWatch = watch;
        if (lossWatch != null) {
            lossWatch.look();
        }
    }

    /** Waits until the command has ended and nothing that it should not leave is left. */
    public Ended await() throws InterruptedException {
        Process running = started(process);
        ProcessTree all = started(tree);
        LossWatch lossWatch = started(watch);
        int exitCode = running.waitFor();
        int leftBehind = 0;
        if (lossWatch.deed() == LossWatch.Deed.NONE && !guardian.fired() && settings.onLost() != OnLost.IGNORE) {
            leftBehind = endLeftBehind(all, lossWatch);
        }
        // Also if the lease ran out only while the rest was being ended: a stopped watch would not kill it any more.
        awaitNone(all, lossWatch);
        lossWatch.stop();
        boolean endedForLease = lossWatch.deed() != LossWatch.Deed.NONE || guardian.fired();
        return new Ended(exitCode, endedForLease, leftBehind, lossWatch.survivors());
    }

    private static <T> T started(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("the command was not started");
        }
        return part;
    }

    /** After TERM for the lease: the rest may use its grace; the watch kills it in time. */
    private static void awaitNone(ProcessTree tree, LossWatch watch) {
        while (watch.deed() == LossWatch.Deed.TERMINATED && !tree.members().isEmpty()) {
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /**
     * Ends what the command left in its group: it would run on without the lock. It first may end by itself, as the reader
     * of a pipe does; then it is asked to, and after the grace it is killed.
     */
    private int endLeftBehind(ProcessTree tree, LossWatch watch) throws InterruptedException {
        long group = tree.groupOfRoot();
        if (awaitNoneInGroup(tree, group, SETTLE_NANOS)) {
            return 0;
        }
        List<ProcessHandle> left = tree.membersInGroup(group);
        left.forEach(ProcessHandle::destroy);
        if (watch.deed() == LossWatch.Deed.NONE
                && !awaitNoneInGroup(tree, group, settings.grace().toNanos())) {
            long startedAtNanos = System.nanoTime();
            List<ProcessHandle> stubborn = tree.membersInGroup(group);
            while (!stubborn.isEmpty() && System.nanoTime() - startedAtNanos < KILL_PATIENCE_NANOS) {
                stubborn.forEach(ProcessHandle::destroyForcibly);
                LockSupport.parkNanos(POLL_NANOS);
                stubborn = tree.membersInGroup(group);
            }
        }
        return left.size();
    }

    private static boolean awaitNoneInGroup(ProcessTree tree, long group, long patienceNanos) {
        long startedAtNanos = System.nanoTime();
        while (!tree.membersInGroup(group).isEmpty()) {
            if (System.nanoTime() - startedAtNanos >= patienceNanos) {
                return false;
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        return true;
    }

    /** Dismisses the guardian; call it when the lease was given back. */
    @Override
    public void close() {
        if (witness != null) {
            witness.close();
            witness = null;
        }
        guardian.close();
    }
}
