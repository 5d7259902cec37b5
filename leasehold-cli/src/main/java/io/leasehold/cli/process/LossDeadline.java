package io.leasehold.cli.process;

import java.time.Duration;

/**
 * Decides, from the validity that is left, when a command is told to end and when it is killed.
 *
 * <p>TERM when no more than the grace is left, KILL when no more than the {@linkplain #killLead kill lead} is left, which
 * is the time set aside for the killing itself: 5 % of the ttl, at least 50 ms, at most 500 ms. A lease that the store
 * has already given to somebody else has nothing left, so its command is killed at once. Pure: it reads no clock. Not
 * for several threads at once.
 */
final class LossDeadline {

    private static final long MIN_LEAD_NANOS = 50_000_000L;
    private static final long MAX_LEAD_NANOS = 500_000_000L;

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
        return Duration.ofNanos(Math.max(
                MIN_LEAD_NANOS, Math.min(MAX_LEAD_NANOS, ttl.dividedBy(20).toNanos())));
    }

    /** What to do now that so much validity is left. */
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
         * Nothing yet; ask again after this time, or when the validity has changed.
         *
         * @param nanos how long the answer stands at most
         */
        record Wait(long nanos) implements Step {}

        /** Ask everything the command started to end. */
        record Term() implements Step {}

        /** End everything the command started. */
        record Kill() implements Step {}
    }
}
