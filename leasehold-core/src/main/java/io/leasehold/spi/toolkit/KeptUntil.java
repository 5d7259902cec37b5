package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;
import org.jspecify.annotations.Nullable;

/**
 * A movable deadline with a task that runs once it has passed, for entries that a store removes when they are no longer
 * used.
 *
 * <p>Safe for use by any thread. The task runs on the timer thread of the runtime, at most once, and without holding a
 * lock of this class.
 */
public final class KeptUntil {

    private final LockRuntime runtime;
    private final Runnable over;
    private boolean ended;
    private long untilAtNanos;
    private LockRuntime.@Nullable Timer timer;
    /**
     * The time at which the timer fires. The timer then checks the deadline, so that moving the deadline needs no new
     * timer.
     */
    private long timerAtNanos;

    /**
     * Creates an instance without a deadline: nothing runs.
     *
     * @param over the task; must be short and must not block
     */
    public KeptUntil(LockRuntime runtime, Runnable over) {
        this.runtime = runtime;
        this.over = over;
    }

    /** Moves the deadline to this time, unless it is already later. */
    public synchronized void atLeast(long atNanos) {
        if (timer == null || untilAtNanos - atNanos < 0) {
            exactly(atNanos);
        }
    }

    /** Sets the deadline to this time. */
    public synchronized void exactly(long atNanos) {
        untilAtNanos = atNanos;
        if (ended || (timer != null && timerAtNanos - atNanos <= 0)) {
            return;
        }
        cancel();
        arm();
    }

    /** Prevents the task from running. */
    public synchronized void end() {
        ended = true;
        cancel();
    }

    private void cancel() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    private void arm() {
        timerAtNanos = untilAtNanos;
        timer = runtime.schedule(untilAtNanos - runtime.nanoTime(), this::checkExpiry);
    }

    private void checkExpiry() {
        synchronized (this) {
            // The field may hold a newer timer than the one that fires.
            cancel();
            if (ended) {
                return;
            }
            if (untilAtNanos - runtime.nanoTime() > 0) {
                arm();
                return;
            }
            ended = true;
        }
        over.run();
    }
}
