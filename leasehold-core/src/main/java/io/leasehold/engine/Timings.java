package io.leasehold.engine;

import io.leasehold.LockOptions;
import java.time.Duration;

/**
 * Every span the engine works with, derived from the options of one lock. Pure.
 *
 * @param ttlNanos what the store is told
 * @param validityNanos ttl − drift, counted from the sending
 * @param minimumValidityNanos the least validity with which a lease is handed out
 * @param renewalNanos the interval between renewals, or zero for none
 * @param maxHoldNanos the cap on the whole hold
 * @param longestCheckableNanos the most that {@code ensureValidFor} accepts
 * @param answerNanos how long a store may take to complete a reply
 */
record Timings(
        long ttlNanos,
        long validityNanos,
        long minimumValidityNanos,
        long renewalNanos,
        long maxHoldNanos,
        long longestCheckableNanos,
        long answerNanos) {

    private static final long LEAST_ANSWER_NANOS = Duration.ofMillis(50).toNanos();
    private static final long MOST_ANSWER_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MOST_BATCHING_NANOS = Duration.ofMillis(50).toNanos();

    static Timings of(LockOptions options) {
        Duration interval = options.renewalInterval();
        long ttlNanos = options.ttl().toNanos();
        return new Timings(
                ttlNanos,
                options.validity().toNanos(),
                options.minimumValidity().toNanos(),
                interval == null ? 0 : interval.toNanos(),
                saturatedNanos(options.maxHold()),
                options.longestCheckable().toNanos(),
                Math.max(LEAST_ANSWER_NANOS, Math.min(MOST_ANSWER_NANOS, ttlNanos / 10)));
    }

    boolean renewed() {
        return renewalNanos > 0;
    }

    /** After a failed renewal: a quarter of the interval, so that several tries fit into what is left. */
    long renewalRetryNanos() {
        return renewalNanos / 4;
    }

    /** How long a due renewal may wait for others to share its request. */
    long batchingNanos() {
        return Math.min(MOST_BATCHING_NANOS, renewalNanos / 16);
    }

    /** Below this validity a renewed lease is at risk: a renewal is late by half an interval. */
    long riskNanos() {
        return validityNanos - renewalNanos - renewalNanos / 2;
    }

    /** The longest time an unknown request can matter: ttl + drift. */
    long undoNanos() {
        return ttlNanos + (ttlNanos - validityNanos);
    }

    /** Spans beyond what fits into a long of nanoseconds count as that: 292 years. */
    static long saturatedNanos(Duration span) {
        try {
            return span.toNanos();
        } catch (ArithmeticException e) {
            return span.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
    }
}
