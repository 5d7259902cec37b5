package io.leasehold.cli.process;

import io.leasehold.cli.process.LossDeadline.Step;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Ends a running command before its lease ends: performs the steps of {@link LossDeadline}, and sends the latest deadline to
 * the {@link Guardian}. The shell of a pure decision; it decides nothing itself.
 */
final class LossWatch {

    /** The action on the command because of its lease. */
    enum Action {
        /** Nothing. */
        NONE,
        /** It received TERM. */
        TERMINATED,
        /** It was killed. */
        KILLED
    }

    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long MIN_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long KILL_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    /** How long the guardian may be missing before the command is ended. */
    private static final long UNGUARDED_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long UNGUARDED_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final RemainingTime remainingTime;
    private final LossDeadline deadline;
    private final ProcessTree tree;
    private final Guardian guardian;
    private final boolean ends;
    private final long tickNanos;
    private final long guardianLeadNanos;
    private final Thread thread = new Thread(this::watch, "leasehold-loss-watch");
    private final long graceNanos;
    private final WatchfulPause pause;
    private final BooleanSupplier adopterGone;
    private final Consumer<List<Long>> refused;
    private volatile boolean stopped;
    private volatile boolean checkWanted;
    private volatile Action deed = Action.NONE;
    private volatile boolean unguarded;
    private boolean killed;
    private boolean missing;
    private long missingSinceNanos;
    private long endsAtNanos;

    /**
     * Creates a watch.
     *
     * @param adopterGone whether the containment of the command is gone, so that processes that it starts escape
     * @param refused receives the processes to which TERM could not be sent
     */
    LossWatch(
            RemainingTime remainingTime,
            OnLost onLost,
            Duration grace,
            Duration ttl,
            ProcessTree tree,
            Guardian guardian,
            BooleanSupplier adopterGone,
            Consumer<List<Long>> refused) {
        this.remainingTime = remainingTime;
        this.deadline = new LossDeadline(onLost, grace, ttl);
        this.tree = tree;
        this.guardian = guardian;
        this.adopterGone = adopterGone;
        this.refused = refused;
        this.graceNanos = grace.toNanos();
        this.pause = new WatchfulPause(System::nanoTime, guardian::now, LockSupport::parkNanos);
        this.ends = onLost != OnLost.IGNORE;
        this.tickNanos = Math.min(MAX_WAIT_NANOS, ttl.toNanos() / 6);
        this.guardianLeadNanos = guardianLead(ttl).toNanos();
        thread.setDaemon(true);
    }

    /**
     * The time before the end of the validity at which the guardian kills: later than this watch does, but before the
     * end.
     */
    static Duration guardianLead(Duration ttl) {
        return Duration.ofNanos(LossDeadline.killLead(ttl).toNanos() / 2);
    }

    void start() {
        thread.start();
    }

    /** The validity may have changed: checks at once. */
    void check() {
        checkWanted = true;
        LockSupport.unpark(thread);
    }

    /** Ends the watch without waiting for its current step, but after a deadline that is being sent: none follows. */
    synchronized void dismiss() {
        stopped = true;
        LockSupport.unpark(thread);
    }

    /** Ends the watch and waits for its current step. */
    void stop() throws InterruptedException {
        dismiss();
        thread.join();
    }

    Action action() {
        return deed;
    }

    /** Whether the command was ended because no guardian would end it after this process's death. */
    boolean unguarded() {
        return unguarded;
    }

    private void watch() {
        while (!stopped && !killed) {
            try {
                decide();
            } catch (RuntimeException | Error again) {
                // No memory, no thread, no file descriptor: the deadline stays, and the next check may succeed.
                LockSupport.parkNanos(UNGUARDED_WAIT_NANOS);
            }
        }
    }

    /**
     * Sends the current deadline to the guardian.
     *
     * @return the remaining validity
     */
    synchronized long tellDeadline() {
        // One thread at a time: a deadline never follows a later one.
        long now = guardian.now();
        long remaining = remainingTime.nanos();
        if (ends && !stopped) {
            guardian.deadline(now, remaining - guardianLeadNanos);
        }
        return remaining;
    }

    private void decide() {
        checkWanted = false;
        long remaining = tellDeadline();
        if (ends) {
            remaining = Math.min(remaining, remainingGuardedNanos());
        } else {
            guardian.revive();
        }
        long answer = remainingTime.lookAgainNanos();
        Step step = deadline.on(remaining, unguarded ? Long.MAX_VALUE : answer);
        if (step instanceof Step.Wait wait) {
            long most = Math.min(missing ? UNGUARDED_WAIT_NANOS : tickNanos, answer);
            pause.take(Math.max(MIN_WAIT_NANOS, Math.min(wait.nanos(), most)), () -> stopped || checkWanted);
        } else if (step instanceof Step.Term) {
            deed = Action.TERMINATED;
            refused.accept(tree.terminate());
        } else {
            kill();
        }
    }

    private void kill() {
        deed = Action.KILLED;
        tree.kill(KILL_PATIENCE_NANOS);
        killed = true;
    }

    /** The remaining time of a command without a guardian: its grace, once none could be started for a while. */
    private long remainingGuardedNanos() {
        if (unguarded) {
            return endsAtNanos - System.nanoTime();
        }
        if (guardian.revive() && !adopterGone.getAsBoolean()) {
            missing = false;
            return Long.MAX_VALUE;
        }
        long now = System.nanoTime();
        if (!missing) {
            missing = true;
            missingSinceNanos = now;
        }
        if (now - missingSinceNanos < UNGUARDED_PATIENCE_NANOS) {
            return Long.MAX_VALUE;
        }
        unguarded = true;
        endsAtNanos = now + graceNanos;
        return graceNanos;
    }
}
