package io.leasehold.engine;

import io.leasehold.Backoff;
import io.leasehold.Holder;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The delays of a waiter before its next request. Pure: randomness comes in as a number in {@code [0, ONE)}.
 *
 * @param recheckNanos the longest time between two checks of a held lock, before jitter
 * @param retry the delays at a store that wakes no waiter
 */
record WaitPolicy(long recheckNanos, Backoff retry) {

    /** The bound of random numbers: parts per million. */
    static final long ONE = 1_000_000;

    /** Returns the delay at a store that wakes waiters: min(holder's remaining ttl, recheck) + 0…20 %. */
    long queuedNanos(@Nullable Holder holder, long random) {
        long base = Math.min(recheckNanos, remainingNanos(holder));
        return base + scaled(base / 5, random);
    }

    /** Returns the delay at a store that can only be polled: the backoff, but not past the end of the holder's ttl. */
    long polledNanos(@Nullable Holder holder, int triesBefore, long random) {
        return Math.min(retryNanos(triesBefore, random), queuedNanos(holder, random));
    }

    /** Returns the delay after a transient failure. */
    long retryNanos(int triesBefore, long random) {
        if (retry instanceof Backoff.Fixed fixed) {
            return Timings.saturatedNanos(fixed.delay());
        } else if (retry instanceof Backoff.Jittered jittered) {
            long least = Timings.saturatedNanos(jittered.least());
            return least + scaled(Timings.saturatedNanos(jittered.most()) - least, random);
        }
        Backoff.Exponential exponential = (Backoff.Exponential) retry;
        long cap = Timings.saturatedNanos(exponential.cap());
        long first = Timings.saturatedNanos(exponential.first());
        int doublings = Math.min(triesBefore, 62 - (64 - Long.numberOfLeadingZeros(first)));
        long full = Math.min(cap, first << Math.max(0, doublings));
        return full / 2 + scaled(full / 2, random);
    }

    /** Returns the longest time between two requests of a waiter. */
    long silenceNanos() {
        return recheckNanos + recheckNanos / 5;
    }

    static long scaled(long span, long random) {
        return (long) ((double) span * random / ONE);
    }

    private static long remainingNanos(@Nullable Holder holder) {
        Duration remaining = holder == null ? null : holder.remainingTtl();
        if (remaining == null) {
            return Long.MAX_VALUE;
        }
        // One millisecond more, so that a store that rounds down does not report the lock as held once more.
        return Math.min(Long.MAX_VALUE - 1_000_000, Math.max(0, Timings.saturatedNanos(remaining))) + 1_000_000;
    }
}
