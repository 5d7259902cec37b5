package io.leasehold.cdi;

/** How a method takes its lock. */
public enum LockMode {
    /** As its only holder. */
    WRITE,
    /**
     * As one of its readers, which share it: methods that take the same lock in mode {@link #WRITE} exclude them, and are
     * excluded by them.
     *
     * @see io.leasehold.SharedLock
     */
    READ
}
