package io.leasehold.spi.toolkit;

import io.leasehold.spi.LockRuntime;

/**
 * The moment at which a request was sent, by both clocks: for stores that count from a request which may be long past.
 *
 * <p>The monotonic clock may stand still while the machine sleeps, and the wall clock does not. So the age of a sending is the longer
 * of the two spans. A forward step of the wall clock makes it look older, which is safe; a backward step hides a sleep.
 *
 * <p>Immutable.
 *
 * @param nanos by the monotonic clock
 * @param wallMillis by the wall clock
 */
public record Sending(long nanos, long wallMillis) {

    /** The wall clock shows whole milliseconds: two of its readings may differ by one more than has passed. */
    private static final long STEP_MILLIS = 1;

    /** A request that is sent next. */
    public static Sending now(LockRuntime runtime) {
        return new Sending(runtime.nanoTime(), runtime.wallMillis());
    }

    /** Whether this request was sent after the other one. */
    public boolean isAfter(Sending other) {
        return nanos - other.nanos > 0;
    }

    /** How long ago it was sent, sleep included. */
    public long ageNanos(LockRuntime runtime) {
        long fromNanos = countedFromNanos(runtime);
        return runtime.nanoTime() - fromNanos;
    }

    /** The moment of the monotonic clock that is as long ago as the sending, sleep included. */
    public long countedFromNanos(LockRuntime runtime) {
        // In this order: a sleep between the two readings counts.
        long awakeNanos = runtime.nanoTime() - nanos;
        long passedNanos = (runtime.wallMillis() - wallMillis - STEP_MILLIS) * 1_000_000L;
        return nanos - Math.max(0, passedNanos - awakeNanos);
    }
}
