package io.leasehold.engine;

import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * All durations of the engine, derived from the options of one lock. Pure.
 *
 * @param ttlNanos the ttl on which the holder relies
 * @param toldNanos the ttl for the store: ttl + lock delay
 * @param validityNanos ttl − drift, counted from the sending
 * @param minimumValidityNanos the least validity with which a lease is handed out
 * @param renewalNanos the interval between renewals, or zero for none
 * @param renewalTries the number of automatic renewals within one validity
 * @param maxHoldNanos the cap on the whole hold
 * @param longestCheckableNanos the most that {@code ensureValidFor} accepts
 * @param answerNanos how long a store may take to complete a reply
 * @param kept whether the lock must stay taken for a time, however its lease ends
 */
record Timings(
        long ttlNanos,
        long toldNanos,
        long validityNanos,
        long minimumValidityNanos,
        long renewalNanos,
        int renewalTries,
        long maxHoldNanos,
        long longestCheckableNanos,
        long answerNanos,
        boolean kept) {

    private static final long MIN_ANSWER_NANOS = Duration.ofMillis(50).toNanos();
    private static final long MAX_ANSWER_NANOS = Duration.ofSeconds(3).toNanos();
    /** The number of successive leases of one grant before the lock is released for others. */
    static final int MAX_LEASES = 64;

    /** How long a grant may be passed on within the process. */
    static final long HAND_OVER_NANOS = Duration.ofMillis(20).toNanos();

    private static final long MIN_CLAIM_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MAX_BATCHING_NANOS = Duration.ofMillis(50).toNanos();

    /** Returns the durations that follow from the options, at a store of one node or of several. */
    static Timings of(LockOptions options, boolean ofNodes) {
        Duration interval = options.renewalInterval();
        long ttlNanos = options.ttl().toNanos();
        return new Timings(
                ttlNanos,
                ttlNanos + options.lockDelay().toNanos(),
                options.validity().toNanos(),
                options.minimumValidity().toNanos(),
                interval == null ? 0 : interval.toNanos(),
                options.renewalTries(),
                saturatedNanos(options.maxHold()),
                options.longestCheckable().toNanos(),
                answerNanos(options, ofNodes),
                !options.atLeast().isZero());
    }

    /** Returns how long a store may take to complete a reply; a round over nodes may take two of their timeouts. */
    private static long answerNanos(LockOptions options, boolean ofNodes) {
        long usual = Math.max(
                MIN_ANSWER_NANOS, Math.min(MAX_ANSWER_NANOS, options.ttl().toNanos() / 10));
        return options.givenNodeTimeout()
                .map(Duration::toNanos)
                .map(given -> ofNodes ? Math.max(usual, 2 * given) : given)
                .orElse(usual);
    }

    boolean renewed() {
        return renewalNanos > 0;
    }

    /** Whether the store keeps a lock for longer than its holder relies on. */
    boolean delayed() {
        return toldNanos > ttlNanos;
    }

    /**
     * Returns the delay after a failed renewal: a quarter of the interval, so that several tries fit into the rest. The
     * delay is longer if all tries would be used up before the validity ends.
     */
    long renewalRetryNanos() {
        return Math.max(renewalNanos / 4, (validityNanos - renewalNanos) / renewalTries);
    }

    /**
     * Returns the delay after a renewal that failed, if so much of the validity and so many tries are used: as the other
     * one, or longer if the first try was early, with others.
     */
    long renewalRetryNanos(long validForNanos, int used) {
        int left = renewalTries - used;
        return left <= 0 ? renewalRetryNanos() : Math.max(renewalRetryNanos(), validForNanos / (left + 1));
    }

    /** Returns how long a due renewal may wait for others to share its request. */
    long batchingNanos() {
        return Math.min(MAX_BATCHING_NANOS, renewalNanos / 16);
    }

    /**
     * Returns how much earlier than it is due a renewal may be sent with others: the half of what passes between two of
     * them at most. So two groups of renewals always become one, since one of the two times between them is no longer.
     */
    long togetherNanos() {
        return renewalNanos / 2 + batchingNanos();
    }

    /** Returns the validity below which a renewed lease is at risk: a renewal is late by half an interval. */
    long riskNanos() {
        return validityNanos - renewalNanos - renewalNanos / 2;
    }

    /** Returns the ttl whose checkable share, equal to that of the current ttl, covers the duration. */
    Duration ttlForChecking(long durationNanos) {
        double share = (double) longestCheckableNanos / ttlNanos;
        return Duration.ofMillis((long) Math.ceil(Math.max(0, durationNanos) / share / 1e6) + 1);
    }

    /**
     * Returns how long the store may keep a lock that it has handed to a waiter before that waiter asks. This is a
     * third more than the least validity, at least 3 s, never more than a ttl. A dead waiter delays the others by at
     * most this time.
     */
    long claimNanos() {
        return Math.min(toldNanos, Math.max(MIN_CLAIM_NANOS, minimumValidityNanos / 3 * 4));
    }

    /**
     * Returns how old a waiter's lease may be when it begins. Its first renewal must not be overdue. Half of the
     * validity that a lease may lose before it is handed out must be left for the answer. Zero if nothing would renew
     * the lease.
     */
    long provenWithinNanos() {
        return Math.max(0, Math.min(renewalNanos, (validityNanos - minimumValidityNanos) / 2));
    }

    /**
     * Returns the validity of a lease that begins from a message, until a renewal is answered. Zero if no lease may
     * begin so: nothing would renew a fixed ttl, and a claim keeps no lock for a lock delay, nor for {@link
     * LockOptions#atLeast()} if no renewal is sent.
     */
    long claimValidityNanos(long claimNanos) {
        return renewed() && !delayed() && !kept
                ? claimNanos - LockOptions.driftOf(Duration.ofNanos(claimNanos)).toNanos()
                : 0;
    }

    /**
     * Returns the least validity with which a lease may begin from a message. One renewal may go without an answer, and
     * the next, which is sent after a pause and its batching, has the shortest time limit for its answer. If a holder
     * wants more than these take, it may end its work when no more is left, as the command line does: then they must fit
     * in before that.
     */
    long leastClaimedNanos() {
        long firstNanos = batchingNanos() + answerNanos;
        long secondNanos = GrantDoubts.FIRST_CONFIRM_NANOS + batchingNanos() + MIN_ANSWER_NANOS;
        long bothNanos = firstNanos + secondNanos;
        return minimumValidityNanos > bothNanos ? minimumValidityNanos + bothNanos : bothNanos;
    }

    /** Returns the longest time for which an unknown request can matter: the ttl for the store + drift. */
    long undoNanos() {
        return toldNanos + (ttlNanos - validityNanos);
    }

    /** Returns a duration in nanoseconds, capped at the maximum of a long: 292 years. */
    static long saturatedNanos(Duration span) {
        return TimeUnit.NANOSECONDS.convert(span);
    }
}
