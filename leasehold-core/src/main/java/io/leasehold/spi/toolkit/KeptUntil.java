package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;
import org.jspecify.annotations.Nullable;

/**
 * A point in time that may be moved, and a task that runs once it has passed: what a store forgets or removes by itself when
 * nobody asks for it any more.
 *
 * <p>Safe for use by any thread. The task runs on the timer thread of the runtime, at most once, with no lock of this class
 * held.
 */
public final class KeptUntil {

    private final LockRuntime runtime;
    private final Runnable over;
    private boolean ended;
    private long untilAtNanos;
    private LockRuntime.@Nullable Timer timer;
    /** When the timer fires; it looks again then, so that moving the end costs no timer. */
    private long timerAtNanos;

    /**
     * Nothing runs before a time was given.
     *
     * @param over short, and does not block
     */
    public KeptUntil(LockRuntime runtime, Runnable over) {
        this.runtime = runtime;
        this.over = over;
    }

    /** It is kept until then, or for longer if that was said before. */
    public synchronized void atLeast(long atNanos) {
        if (timer == null || untilAtNanos - atNanos < 0) {
            exactly(atNanos);
        }
    }

    /** It is kept until then, whatever was said before. */
    public synchronized void exactly(long atNanos) {
        untilAtNanos = atNanos;
        if (ended || (timer != null && timerAtNanos - atNanos <= 0)) {
            return;
        }
        cancel();
        arm();
    }

    /** The task does not run any more. */
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
        timer = runtime.schedule(untilAtNanos - runtime.nanoTime(), this::look);
    }

    private void look() {
        synchronized (this) {
            // Perhaps a newer one than that which fires.
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
