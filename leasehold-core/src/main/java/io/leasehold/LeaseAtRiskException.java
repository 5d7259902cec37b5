package io.leasehold;

import java.time.Duration;

/** Thrown if a hold is valid, but for less time than requested: do not begin work that may not end in time. */
public final class LeaseAtRiskException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final Duration remaining;

    /** Less than {@code wanted} is left. */
    public LeaseAtRiskException(LockName lockName, Duration remaining, Duration wanted) {
        super("lease on \"" + lockName + "\" is valid for only " + remaining.toMillis() + " ms more; "
                + wanted.toMillis() + " ms were asked for (a renewal is late; see the store's latency)");
        this.lockName = lockName;
        this.remaining = remaining;
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** The validity that was left. */
    public Duration remaining() {
        return remaining;
    }
}
