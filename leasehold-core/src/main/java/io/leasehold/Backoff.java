package io.leasehold;

import java.time.Duration;
import java.util.Objects;

/**
 * How long to wait before trying again, where nothing can wake the waiter (a polling store, or a
 * store that just failed).
 *
 * <p>Delays are drawn at random where the kind says so, so that contenders do not try in step.
 */
public sealed interface Backoff {

    /** Always the same delay. */
    static Backoff fixed(Duration delay) {
        return new Fixed(delay);
    }

    /** A delay drawn evenly between two bounds. */
    static Backoff jittered(Duration least, Duration most) {
        return new Jittered(least, most);
    }

    /**
     * {@code first × 2^n} up to {@code cap}, n counting the tries before, each drawn evenly between
     * half of it and all of it.
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
        /** Refuses bounds that are not positive or in the wrong order. */
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
        /** Refuses bounds that are not positive or in the wrong order. */
        public Exponential {
            requirePositive(first, "first delay");
            requireOrder(first, cap);
        }
    }

    private static void requirePositive(Duration delay, String what) {
        Objects.requireNonNull(delay, what);
        if (delay.isZero() || delay.isNegative()) {
            throw new IllegalArgumentException("backoff: the " + what + " is " + delay + "; it must be above zero");
        }
    }

    private static void requireOrder(Duration low, Duration high) {
        Objects.requireNonNull(high, "upper bound");
        if (high.compareTo(low) < 0) {
            throw new IllegalArgumentException(
                    "backoff: " + high + " is below " + low + "; the bounds are in the wrong order");
        }
    }
}
