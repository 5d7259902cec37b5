package io.leasehold.cli.process;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * A pause that ends soon after a suspension of the machine. The monotonic clock may stand still meanwhile, so a simple pause
 * would last for the rest of its time after it; a lease may have ended by then.
 */
final class WatchfulPause {

    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long NANOS_PER_HUNDREDTH = 10_000_000L;
    /** How far the up-time clock may be ahead without a suspension, in its unit: it is coarse. */
    private static final long AHEAD_HUNDREDTHS = 5;

    private final LongSupplier nanoTime;
    private final LongSupplier uptime;
    private final LongConsumer park;
    private long fromUptime;
    private long fromNanos;

    /**
     * Creates a pause.
     *
     * @param nanoTime the monotonic clock
     * @param uptime the up-time clock, in hundredths of a second; {@link UptimeClock#UNKNOWN} if there is none
     * @param park waits for at most so many nanoseconds by the monotonic clock
     */
    WatchfulPause(LongSupplier nanoTime, LongSupplier uptime, LongConsumer park) {
        this.nanoTime = nanoTime;
        this.uptime = uptime;
        this.park = park;
        begin();
    }

    /** A suspension from now on ends the next pause: between two pauses, its length is decided. */
    private void begin() {
        // The up-time first: a suspension in between counts.
        fromUptime = uptime.getAsLong();
        fromNanos = nanoTime.getAsLong();
    }

    /** Waits this long, but not after a suspension, nor once the condition is true and the thread is woken up. */
    void take(long nanos, BooleanSupplier isOver) {
        long startNanos = nanoTime.getAsLong();
        long left = nanos;
        while (left > 0 && !isOver.getAsBoolean() && !wasSuspended()) {
            park.accept(Math.min(left, SLICE_NANOS));
            left = nanos - (nanoTime.getAsLong() - startNanos);
        }
        begin();
    }

    private boolean wasSuspended() {
        long ranNanos = nanoTime.getAsLong() - fromNanos;
        return fromUptime > UptimeClock.UNKNOWN
                && uptime.getAsLong() - fromUptime > ranNanos / NANOS_PER_HUNDREDTH + AHEAD_HUNDREDTHS;
    }
}
