package io.leasehold.node;

import io.leasehold.spi.Incarnation;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Estimates one node's clock from its answers, so that a candidate for a fencing token exceeds the floor in one round trip.
 *
 * <p>Let {@code s} be the client's sending time, {@code r} its receiving time and {@code S} the node's clock in the
 * reply; then the node's offset lies in {@code [S − r, S − s]}. The estimate is {@code now + min(S − s)} over a sliding
 * window, hence at most one shortest one-way delay ahead of the node's clock. A jump backwards lowers the minimum at
 * once; a jump forwards is proved by {@code S − r} above the minimum and clears the window, as do a new incarnation and
 * a long silence.
 *
 * <p>Pure: receives time as numbers. Guarded by its owner.
 */
public final class BallotClock {

    private static final long WINDOW_NANOS = 30_000_000_000L;
    private static final long JUMP_TOLERANCE_MICROS = 50_000;

    private @Nullable Incarnation incarnation;
    private long windowStartAtNanos;
    private long previousMin = Long.MAX_VALUE;
    private long currentMin = Long.MAX_VALUE;

    /** Creates a clock without an estimate. */
    public BallotClock() {}

    /** Processes a reply. */
    public void answered(Incarnation from, long serverMicros, long sentAtNanos, long receivedAtNanos) {
        long most = serverMicros - sentAtNanos / 1_000;
        long least = serverMicros - receivedAtNanos / 1_000;
        boolean outdated = receivedAtNanos - windowStartAtNanos > 2 * WINDOW_NANOS;
        if (!from.equals(incarnation) || outdated || least > min() + JUMP_TOLERANCE_MICROS) {
            incarnation = from;
            restart(most, receivedAtNanos);
            return;
        }
        if (receivedAtNanos - windowStartAtNanos > WINDOW_NANOS) {
            previousMin = currentMin;
            currentMin = Long.MAX_VALUE;
            windowStartAtNanos = receivedAtNanos;
        }
        currentMin = Math.min(currentMin, most);
    }

    /** Whether the last answer came from this life. */
    boolean isOf(Incarnation life) {
        return life.equals(incarnation);
    }

    private void restart(long offset, long nowNanos) {
        previousMin = Long.MAX_VALUE;
        currentMin = offset;
        windowStartAtNanos = nowNanos;
    }

    private long min() {
        long min = Math.min(previousMin, currentMin);
        return min == Long.MAX_VALUE ? min - JUMP_TOLERANCE_MICROS : min;
    }

    /** The node's clock now, in microseconds, or empty before the first answer. */
    public OptionalLong estimateMicros(long nowNanos) {
        if (incarnation == null) {
            return OptionalLong.empty();
        }
        return OptionalLong.of(nowNanos / 1_000 + min());
    }
}
