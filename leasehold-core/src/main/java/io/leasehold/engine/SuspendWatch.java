package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Notices that the machine was suspended: the wall clock went on while the monotonic clock, by which leases are counted,
 * stood still. Every grant is then unconfirmed until a renewal succeeds.
 *
 * <p>The suspensions that were noticed are counted, and the count changes together with what the clocks are compared with:
 * so a thread whose own look notices nothing any more, since another thread was first, sees by the count that its grant
 * has slept through something.
 *
 * <p>A step of the wall clock forwards looks the same, and costs one renewal of each lease. Steps backwards are ignored.
 */
final class SuspendWatch {

    private static final long TICK_NANOS = 1_000_000_000L;
    private static final long TOLERANCE_NANOS = 100_000_000L;

    /**
     * What the clocks are compared with.
     *
     * @param watching whether something is held; otherwise nothing is compared
     * @param offsetNanos the wall clock less the monotonic one
     * @param suspensions how many were noticed so far
     */
    private record Baseline(boolean watching, long offsetNanos, long suspensions) {

        Baseline idle() {
            return new Baseline(false, offsetNanos, suspensions);
        }
    }

    private final LockRuntime runtime;
    private final TimerQueue timeline;
    private final HoldTable holds;
    private final AtomicReference<Baseline> baseline = new AtomicReference<>(new Baseline(false, 0, 0));
    /** Whether a tick is to come; guarded by this, as are the beginning and the end of the watching. */
    private boolean ticking;

    SuspendWatch(LockRuntime runtime, TimerQueue timeline, HoldTable holds) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.holds = holds;
    }

    /** Something is held, and stands in the table of holds: watches until nothing does. */
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

    /** To be taken before a request is sent, and given to {@link #hasSleptSince} when its grant has come. */
    long mark() {
        return offset();
    }

    /** Whether the machine was suspended since the mark was taken. */
    boolean hasSleptSince(long mark) {
        return offset() - mark > TOLERANCE_NANOS;
    }

    /** How many suspensions were noticed so far: a grant that has seen fewer is unconfirmed. */
    long suspensions() {
        return baseline().suspensions();
    }

    private void tick() {
        Futures.guarded("looking for a suspension", () -> look(true));
        synchronized (this) {
            ticking = false;
            // A hold is in the table before it asks to be watched, so none is missed between the two.
            if (holds.isEmpty()) {
                baseline.updateAndGet(Baseline::idle);
            } else {
                timeline.schedule(TICK_NANOS, this::tick);
                ticking = true;
            }
        }
    }

    /** Compares the clocks now; cheap enough to ask before each answer about validity. */
    void check() {
        look(false);
    }

    /**
     * One reading of the clocks, for the comparison and for what is compared with from then on: between two readings the
     * machine may be suspended.
     *
     * @param rebase whether what is within the tolerance is forgiven: a clock that is slewed must not add up to a jump
     */
    private void look(boolean rebase) {
        Baseline before;
        Baseline after;
        do {
            before = baseline();
            long nowNanos = offset();
            long movedNanos = nowNanos - before.offsetNanos();
            boolean slept = movedNanos > TOLERANCE_NANOS;
            if (!before.watching() || !(slept || movedNanos < -TOLERANCE_NANOS || rebase)) {
                return;
            }
            after = new Baseline(true, nowNanos, before.suspensions() + (slept ? 1 : 0));
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
