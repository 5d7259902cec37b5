package io.leasehold;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store has not confirmed the export of a lease. The lease has ended, and no ticket exists. Leasehold
 * releases the lock in the background; if the store cannot be reached, the lock is free after {@link #freeAfter()} at
 * the latest.
 */
public final class AmbiguousExportException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final Duration freeAfter;

    /**
     * The export was not confirmed.
     *
     * @param freeAfter the longest time, from now on, for which the store may still keep the lock
     * @param cause the last failure
     */
    public AmbiguousExportException(LockName lockName, Duration freeAfter, String store, @Nullable Throwable cause) {
        super(
                "the export of the lease on \"" + lockName + "\" was not confirmed by " + store
                        + "; the lease has ended, and the lock is free after " + freeAfter.toMillis()
                        + " ms at the latest" + (cause == null ? "" : ": " + cause.getMessage()),
                cause);
        this.lockName = lockName;
        this.freeAfter = freeAfter;
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** The longest time, from the exception on, for which the store may still keep the lock. */
    public Duration freeAfter() {
        return freeAfter;
    }
}
