package io.leasehold;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if a hold is valid for less time than requested: do not begin work that may not end in time. The cause, if
 * there is one, says why the requested renewal failed.
 */
public final class LeaseAtRiskException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final Duration remaining;

    /** Less than {@code wanted} is left, and the store was not asked. */
    public LeaseAtRiskException(LockName lockName, Duration remaining, Duration wanted) {
        this(lockName, remaining, wanted, "a renewal is late; see the store's latency", null);
    }

    /**
     * Less than {@code wanted} is left even after a requested renewal.
     *
     * @param why what came of the renewal
     * @param cause why it failed, or null
     */
    public LeaseAtRiskException(
            LockName lockName, Duration remaining, Duration wanted, String why, @Nullable Throwable cause) {
        super(
                "lease on \"" + lockName + "\" is valid for only " + remaining.toMillis() + " ms more; "
                        + wanted.toMillis() + " ms were requested (" + why + ")",
                cause);
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
