package io.leasehold;

import java.time.Duration;
import java.util.Objects;

/**
 * The delay before a retry when no notification can wake the waiter: the store supports only polling, or has just
 * failed.
 *
 * <p>The jittered and exponential kinds draw random delays, so that contenders do not retry in step.
 */
public sealed interface Backoff {

    /** Always the same delay. */
    static Backoff fixed(Duration delay) {
        return new Fixed(delay);
    }

    /** A delay drawn uniformly between two bounds. */
    static Backoff jittered(Duration least, Duration most) {
        return new Jittered(least, most);
    }

    /**
     * An exponential delay: drawn uniformly between half of {@code min(cap, first × 2^n)} and the whole, where n is the
     * number of earlier tries.
     */
    static Backoff exponential(Duration first, Duration cap) {
        return new Exponential(first, cap);
    }

    /**
     * See {@link Backoff#fixed}.
     *
     * @param delay the delay, above zero
     */
    record Fixed(Duration delay) implements Backoff {
        /** Refuses a delay that is zero or negative. */
        public Fixed {
            requirePositive(delay, "delay");
        }
    }

    /**
     * See {@link Backoff#jittered}.
     *
     * @param least the shortest delay, above zero
     * @param most the longest delay, not below {@code least}
     */
    record Jittered(Duration least, Duration most) implements Backoff {
        /** Refuses bounds that are not positive, or are in the wrong order. */
        public Jittered {
            requirePositive(least, "shortest delay");
            requireOrder(least, most);
        }
    }

    /**
     * See {@link Backoff#exponential}.
     *
     * @param first the first delay, above zero
     * @param cap the largest delay, not below {@code first}
     */
    record Exponential(Duration first, Duration cap) implements Backoff {
        /** Refuses bounds that are not positive, or are in the wrong order. */
        public Exponential {
            requirePositive(first, "first delay");
            requireOrder(first, cap);
        }
    }

    private static void requirePositive(Duration delay, String what) {
        Objects.requireNonNull(delay, what);
        if (delay.isZero() || delay.isNegative()) {
            throw new IllegalArgumentException(
                    "backoff: the " + what + " is " + Durations.text(delay) + "; it must be above zero");
        }
    }

    private static void requireOrder(Duration low, Duration high) {
        Objects.requireNonNull(high, "upper bound");
        if (high.compareTo(low) < 0) {
            throw new IllegalArgumentException("backoff: " + Durations.text(high) + " is below " + Durations.text(low)
                    + "; the bounds are in the wrong order");
        }
    }
}
