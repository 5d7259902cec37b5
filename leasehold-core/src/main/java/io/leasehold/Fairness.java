package io.leasehold;

/**
 * In which order waiters obtain a lock.
 *
 * <p>Within one process it is the order in which they asked: the waiters of a lock stand in one line, and only its first
 * has a place at the store. Between processes it is the order in which these reached the store, where the store promises
 * {@link Guarantee.Queueing#FIFO}. A waiter loses its place if it gives up, if the store cannot reach it (its process
 * died, its connection was cut), or if it was handed the lock and did not come within its claim: max(3 s, 4/3 of the
 * least validity), at most the ttl. Callers that do not wait do not overtake those who do.
 */
public enum Fairness {
    /**
     * The default: a process that holds the lock may pass it on to its own waiters with equal options before it goes to
     * the next process, for at most 64 leases or 20 ms after the store's grant, without asking the store. Many times
     * faster under contention; nobody elsewhere waits longer for it than those 20 ms per turn.
     */
    BOUNDED_LOCAL_HAND_OVER,
    /**
     * Every lease is a grant of the store, in the order in which the waiters reached it; those of one process reach it one
     * after another, as each becomes the first of its line.
     */
    STRICT_FIFO
}
