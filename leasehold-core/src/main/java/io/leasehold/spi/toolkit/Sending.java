package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;

/**
 * The moment at which a request was sent, by both clocks: for stores that count from a request that may be long past.
 *
 * <p>The monotonic clock may stop while the machine sleeps; the wall clock does not. The age of a request is therefore
 * the longer of the two spans. A forward step of the wall clock makes the request look older, which is safe. A backward
 * step hides a sleep.
 *
 * <p>Immutable.
 *
 * @param nanos the moment by the monotonic clock
 * @param wallMillis the moment by the wall clock
 */
public record Sending(long nanos, long wallMillis) {

    /** The wall clock shows whole milliseconds, so two readings may differ by one more than has passed. */
    private static final long STEP_MILLIS = 1;

    /** Returns the moment for a request that is sent next. */
    public static Sending now(LockRuntime runtime) {
        return new Sending(runtime.nanoTime(), runtime.wallMillis());
    }

    /** Whether this request was sent after the other one. */
    public boolean isAfter(Sending other) {
        return nanos - other.nanos > 0;
    }

    /** Returns how long ago the request was sent, including sleep. */
    public long ageNanos(LockRuntime runtime) {
        long fromNanos = countedFromNanos(runtime);
        return runtime.nanoTime() - fromNanos;
    }

    /** Returns the moment of the monotonic clock that is as long ago as the sending, including sleep. */
    public long countedFromNanos(LockRuntime runtime) {
        // In this order, a sleep between the two readings counts.
        long awakeNanos = runtime.nanoTime() - nanos;
        long passedNanos = (runtime.wallMillis() - wallMillis - STEP_MILLIS) * 1_000_000L;
        return nanos - Math.max(0, passedNanos - awakeNanos);
    }
}
