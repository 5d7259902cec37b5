package io.leasehold;

/** In which order waiters obtain a lock. Within one process it is always the order in which they asked. */
public enum Fairness {
    /**
     * The default: in the order in which processes asked, except that a process that holds the lock may pass it on to
     * its own waiters first, for at most 64 leases or 20 ms, without asking the store. Many times faster under
     * contention.
     */
    BOUNDED_LOCAL_HAND_OVER,
    /** Strictly in the order in which waiters reached the store: every lease is a request. */
    STRICT_FIFO
}
