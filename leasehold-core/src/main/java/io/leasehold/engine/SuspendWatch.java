package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Notices that the machine was suspended: the wall clock went on while the monotonic clock, by which leases are counted,
 * stood still. Every grant is then unconfirmed until a renewal succeeds.
 *
 * <p>A step of the wall clock forwards looks the same, and costs one renewal of each lease. Steps backwards are ignored.
 */
final class SuspendWatch {

    private static final long TICK_NANOS = 1_000_000_000L;
    private static final long TOLERANCE_NANOS = 100_000_000L;

    private final LockRuntime runtime;
    private final Timeline timeline;
    private final HoldTable holds;
    private final AtomicLong offsetNanos = new AtomicLong();
    private final AtomicBoolean ticking = new AtomicBoolean();

    SuspendWatch(LockRuntime runtime, Timeline timeline, HoldTable holds) {
        this.runtime = runtime;
        this.timeline = timeline;
        this.holds = holds;
    }

    /** Something is held: watches until nothing is. */
    void watch() {
        if (!ticking.get() && ticking.compareAndSet(false, true)) {
            offsetNanos.set(offset());
            timeline.schedule(TICK_NANOS, this::tick);
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

    private void tick() {
        check();
        rebase();
        if (!holds.isEmpty()) {
            timeline.schedule(TICK_NANOS, this::tick);
            return;
        }
        ticking.set(false);
        if (!holds.isEmpty()) {
            watch();
        }
    }

    /** Compares the clocks now; cheap enough to ask before each answer about validity. */
    void check() {
        long before = offsetNanos.get();
        long now = offset();
        boolean moved = now - before > TOLERANCE_NANOS || before - now > TOLERANCE_NANOS;
        if (moved && ticking.get() && offsetNanos.compareAndSet(before, now) && now - before > 0) {
            holds.all().forEach(GrantKeeper::suspended);
        }
    }

    /** What is within the tolerance was no jump: a clock that is slewed must not add up to one. */
    private void rebase() {
        offsetNanos.set(offset());
    }

    private long offset() {
        return runtime.wallMillis() * 1_000_000 - runtime.nanoTime();
    }
}
