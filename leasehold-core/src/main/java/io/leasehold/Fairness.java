package io.leasehold;

/**
 * The order in which waiters obtain a lock.
 *
 * <p>Within one process it is the order of their requests: the waiters of a lock form one local queue, and only the
 * first of them has a place at the store. Between processes it is the order in which they reached the store, if the
 * store promises {@link Guarantee.Queueing#FIFO}. A waiter loses its place if it gives up, if the store cannot reach it
 * (its process died, its connection was cut), or if it was handed the lock and did not claim it in time: within max(3
 * s, 4/3 of the minimum validity), at most the ttl. Callers that do not wait do not overtake callers that do.
 */
public enum Fairness {
    /**
     * The default: a process that holds the lock may pass it on to its own waiters with equal options before the next
     * process receives it, for at most 64 leases or 20 ms after the store's grant, without a request to the store. Many
     * times faster under contention; waiters of other processes wait at most 20 ms longer per turn.
     */
    BOUNDED_LOCAL_HAND_OVER,
    /**
     * Every lease is a grant of the store, in the order in which the waiters reached the store. The waiters of one
     * process reach it one after another, as each becomes the first of its local queue.
     */
    STRICT_FIFO
}
