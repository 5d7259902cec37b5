package io.leasehold.spring;

/** The treatment of a call if its lock stays busy. The body never runs without the lock. */
public enum OnBusy {
    /** {@link #SKIP} on a {@code @Scheduled} method, else {@link #THROW}. */
    DEFAULT,
    /** The caller receives a {@link io.leasehold.LockBusyException}. */
    THROW,
    /**
     * The caller receives no value: null, an empty {@code Optional}, an empty publisher, or a stage that has completed
     * with null.
     */
    SKIP,
    /** The method that {@link Locked#fallback} names is called, and the caller receives its result. */
    FALLBACK
}
