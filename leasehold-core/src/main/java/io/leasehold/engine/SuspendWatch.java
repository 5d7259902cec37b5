package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Detects that the machine was suspended: the wall clock advanced while the monotonic clock, which measures leases, did
 * not. Every grant is then unconfirmed until a renewal succeeds.
 *
 * <p>The detected suspensions are counted, and the count changes atomically with the baseline. If another thread was
 * first, a thread's own check detects nothing; the count tells that thread that its grant is affected.
 *
 * <p>A forward step of the wall clock cannot be distinguished from a suspension, and costs one renewal of each lease.
 * Backward steps are ignored.
 */
final class SuspendWatch {

    private static final long TICK_NANOS = 1_000_000_000L;
    private static final long TOLERANCE_NANOS = 100_000_000L;

    /**
     * The reference for the comparison of the clocks.
     *
     * @param watching whether something is held; otherwise, nothing is compared
     * @param offsetNanos the wall clock minus the monotonic clock
     * @param suspensions the number of suspensions detected so far
     */
    private record Baseline(boolean watching, long offsetNanos, int suspensions) {}

    private final LockRuntime runtime;
    private final TimerQueue timeline;
    private final HoldTable holds;
    private final AtomicReference<Baseline> baseline = new AtomicReference<>(new Baseline(false, 0, 0));
    /** Whether a tick is scheduled; guarded by this, as are the start and the end of the watching. */
    private boolean ticking;

    SuspendWatch(LockRuntime runtime, TimerQueue timeline, HoldTable holds) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.holds = holds;
    }

    /** Watches until the table of holds, which must contain the new hold, is empty. */
    synchronized void watch() {
        Baseline now = baseline();
        if (!now.watching()) {
            baseline.set(new Baseline(true, offset(), now.suspensions()));
        }
        if (!ticking) {
            timeline.schedule(TICK_NANOS, this::tick);
            ticking = true;
        }
    }

    /**
     * Returns a mark. Call it before a request is sent, and pass the mark to {@link #wasSuspendedSince} when the grant
     * has arrived.
     */
    long mark() {
        return offset();
    }

    /** Whether the machine was suspended since the mark was taken. */
    boolean wasSuspendedSince(long mark) {
        return offset() - mark > TOLERANCE_NANOS;
    }

    /** Returns the number of suspensions detected so far; a grant that has seen fewer is unconfirmed. */
    int suspensions() {
        return baseline().suspensions();
    }

    private void tick() {
        Futures.guarded("the check for a suspension", () -> compareClocks(true));
        synchronized (this) {
            ticking = false;
            // A hold is in the table before it calls watch(), so none is missed between the two.
            if (holds.isEmpty()) {
                baseline.updateAndGet(now -> new Baseline(false, now.offsetNanos(), now.suspensions()));
            } else {
                TimerQueue.duty(() -> timeline.schedule(TICK_NANOS, this::tick));
                ticking = true;
            }
        }
    }

    /** Compares the clocks now; cheap enough for each query of validity. */
    void check() {
        compareClocks(false);
    }

    /**
     * Compares the clocks. Uses one reading for both the comparison and the new baseline, since the machine may be
     * suspended between two readings.
     *
     * @param rebase whether a difference within the tolerance moves the baseline: slewing must not add up to a jump
     */
    private void compareClocks(boolean rebase) {
        Baseline before;
        Baseline after;
        do {
            before = baseline();
            long nowNanos = offset();
            long movedNanos = nowNanos - before.offsetNanos();
            boolean suspended = movedNanos > TOLERANCE_NANOS;
            if (!before.watching() || !(suspended || movedNanos < -TOLERANCE_NANOS || rebase)) {
                return;
            }
            after = new Baseline(true, nowNanos, before.suspensions() + (suspended ? 1 : 0));
        } while (!baseline.compareAndSet(before, after));
        if (after.suspensions() != before.suspensions()) {
            for (HoldTable.Held hold : holds.all()) {
                Futures.guarded("noticing a suspension", hold::noticeSuspension);
            }
        }
    }

    private Baseline baseline() {
        return Objects.requireNonNull(baseline.get());
    }

    private long offset() {
        return runtime.wallMillis() * 1_000_000 - runtime.nanoTime();
    }
}
