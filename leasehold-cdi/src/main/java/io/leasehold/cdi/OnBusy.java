package io.leasehold.cdi;

/** The behaviour if the lock stays busy. The body never runs without the lock. */
public enum OnBusy {
    /** The caller receives a {@link io.leasehold.LockBusyException}. */
    THROW,
    /** The caller receives no value: null, an empty {@code Optional}, or a stage that has completed with null. */
    SKIP,
    /** The method that {@link Locked#fallback} names is called, and the caller receives its result. */
    FALLBACK
}
