package io.leasehold.cli.process;

import java.time.Duration;

/**
 * Decides, from the validity that is left, when a command receives TERM and when it is killed.
 *
 * <p>TERM when no more than the grace is left, KILL when no more than the {@linkplain #killLead kill lead} is left, which is
 * the time reserved for the killing itself: 5 % of the ttl, at least 50 ms, at most 500 ms. A lease that the store has already
 * given to another client has no validity left, so its command is killed at once. Pure: it reads no clock. Not thread-safe.
 */
final class LossDeadline {

    private static final long MIN_LEAD_NANOS = 50_000_000L;
    private static final long MAX_LEAD_NANOS = 500_000_000L;
    /** In doubt, how long a step is valid: no process reports a renewal that was confirmed. */
    private static final long DOUBT_NANOS = 50_000_000L;

    private final OnLost onLost;
    private final long graceNanos;
    private final long killLeadNanos;
    private boolean termSent;

    LossDeadline(OnLost onLost, Duration grace, Duration ttl) {
        this.onLost = onLost;
        this.killLeadNanos = killLead(ttl).toNanos();
        this.graceNanos = Math.max(grace.toNanos(), killLeadNanos);
    }

    /** The time before the end of the validity at which KILL is sent. */
    static Duration killLead(Duration ttl) {
        return Duration.ofNanos(Math.max(MIN_LEAD_NANOS, Math.min(MAX_LEAD_NANOS, ttl.toNanos() / 20)));
    }

    /**
     * The step for this remaining validity while the renewal that decides may still be answered: a short suspension alone ends
     * no command, so only the kill lead does.
     *
     * @param answerNanos the time within which it may be answered; {@link Long#MAX_VALUE} if no answer is awaited
     */
    Step on(long remainingNanos, long answerNanos) {
        if (onLost != OnLost.IGNORE && answerNanos < Long.MAX_VALUE && remainingNanos > killLeadNanos) {
            return new Step.Wait(Math.min(DOUBT_NANOS, Math.min(answerNanos, remainingNanos - killLeadNanos)));
        }
        return on(remainingNanos);
    }

    /** The step for this remaining validity. */
    Step on(long remainingNanos) {
        if (onLost == OnLost.IGNORE) {
            return new Step.Wait(Long.MAX_VALUE);
        }
        if (remainingNanos <= killLeadNanos || (onLost == OnLost.KILL && remainingNanos <= graceNanos)) {
            return new Step.Kill();
        }
        if (termSent) {
            return new Step.Wait(remainingNanos - killLeadNanos);
        }
        if (remainingNanos <= graceNanos) {
            termSent = true;
            return new Step.Term();
        }
        return new Step.Wait(remainingNanos - graceNanos);
    }

    /** One decision. */
    sealed interface Step {
        /**
         * Do nothing; ask again after this time, or when the validity has changed.
         *
         * @param nanos the longest time for which the answer is valid
         */
        record Wait(long nanos) implements Step {}

        /** Send TERM to all processes of the command. */
        record Term() implements Step {}

        /** Kill all processes of the command. */
        record Kill() implements Step {}
    }
}
