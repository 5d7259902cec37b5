package io.leasehold.benchmarks.child;

import io.leasehold.benchmarks.peer.PeerKind;

/**
 * The work that a child process is ordered to do.
 *
 * @param verb the kind of load
 * @param peer the peer under test
 * @param ttlMillis the ttl of its locks
 * @param name the name of the lock, or the prefix of the names
 * @param count the number of threads, of locks to hold, or of clients
 * @param startAtNanos the start, on the monotonic clock that all processes of a machine share
 * @param lengthNanos the duration
 */
public record Order(
        Verb verb, PeerKind peer, long ttlMillis, String name, int count, long startAtNanos, long lengthNanos) {

    /** The kinds of load. */
    public enum Verb {
        /** Locks and unlocks in the requested number of threads. */
        PAIRS,
        /** The same, with names of its own for each thread, which begin with the name. */
        DISTINCT,
        /** One thread: holds for some milliseconds, lets the other process acquire the lock, and waits for it again. */
        HAND_OVERS,
        /** The requested number of threads: each holds for some milliseconds, pauses for one, and locks again. */
        HOLDS,
        /** Each thread locks once and unlocks at once. */
        ONCE,
        /** Holds locks with different names, and reports their share of the heap. */
        HEAP,
        /** Opens and uses this number of further clients, and reports their cost to the process. */
        FURTHER_CLIENTS
    }
}
