package io.leasehold.cdi;

/** The behaviour if the lock stayed busy. The body never runs without the lock. */
public enum OnBusy {
    /** The caller gets a {@link io.leasehold.LockBusyException}. */
    THROW,
    /** The caller gets nothing: null, an empty {@code Optional}, or a stage that has completed with null. */
    SKIP,
    /** The method that {@link Locked#fallback} names is called, and the caller gets what it returns. */
    FALLBACK
}
