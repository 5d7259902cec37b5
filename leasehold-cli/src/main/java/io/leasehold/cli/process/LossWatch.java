package io.leasehold.cli.process;

import io.leasehold.cli.process.LossDeadline.Step;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * Ends a running command before its lease does: asks {@link LossDeadline} what to do, does it, and keeps the {@link
 * Guardian} told of the latest deadline. The shell of a pure decision; it decides nothing itself.
 */
final class LossWatch {

    /** What was done to the command because of its lease. */
    enum Deed {
        /** Nothing. */
        NONE,
        /** It was asked to end. */
        TERMINATED,
        /** It was killed. */
        KILLED
    }

    private static final long MOST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long LEAST_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long KILL_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LongSupplier remainingNanos;
    private final LossDeadline deadline;
    private final ProcessTree tree;
    private final Guardian guardian;
    private final boolean ends;
    private final long tickNanos;
    private final long guardianLeadNanos;
    private final Thread thread = new Thread(this::watch, "leasehold-loss-watch");
    private volatile boolean stopped;
    private volatile Deed deed = Deed.NONE;
    private volatile boolean survivors;

    LossWatch(
            LongSupplier remainingNanos,
            OnLost onLost,
            Duration grace,
            Duration ttl,
            ProcessTree tree,
            Guardian guardian) {
        this.remainingNanos = remainingNanos;
        this.deadline = new LossDeadline(onLost, grace, ttl);
        this.tree = tree;
        this.guardian = guardian;
        this.ends = onLost != OnLost.IGNORE;
        this.tickNanos = Math.min(MOST_WAIT_NANOS, ttl.dividedBy(6).toNanos());
        this.guardianLeadNanos = guardianLead(ttl).toNanos();
        thread.setDaemon(true);
    }

    /** How long before the end of the validity the guardian kills: after us, and still before the end. */
    static Duration guardianLead(Duration ttl) {
        return LossDeadline.killLead(ttl).dividedBy(2);
    }

    void start() {
        thread.start();
    }

    /** The validity may have changed: look at once. */
    void look() {
        LockSupport.unpark(thread);
    }

    /** Ends the watch and waits for what it is doing. */
    void stop() throws InterruptedException {
        stopped = true;
        LockSupport.unpark(thread);
        thread.join();
    }

    Deed deed() {
        return deed;
    }

    /** Whether something could not be killed. */
    boolean survivors() {
        return survivors;
    }

    private void watch() {
        while (!stopped) {
            long now = guardian.now();
            long remaining = remainingNanos.getAsLong();
            if (ends) {
                guardian.deadline(now, remaining - guardianLeadNanos);
            }
            reviveGuardian();
            Step step = deadline.on(remaining);
            if (step instanceof Step.Wait wait) {
                LockSupport.parkNanos(Math.max(LEAST_WAIT_NANOS, Math.min(wait.nanos(), tickNanos)));
            } else if (step instanceof Step.Term) {
                deed = Deed.TERMINATED;
                tree.terminate();
            } else {
                deed = Deed.KILLED;
                survivors = !tree.kill(KILL_PATIENCE_NANOS);
                return;
            }
        }
    }

    private void reviveGuardian() {
        try {
            guardian.revive();
        } catch (IOException noProcess) {
            // The next tick tries again; until then this watch is all there is.
        }
    }
}
