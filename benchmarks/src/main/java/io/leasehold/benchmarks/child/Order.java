package io.leasehold.benchmarks.child;

import io.leasehold.benchmarks.peer.PeerKind;

/**
 * The work that a child is ordered to do.
 *
 * @param verb which kind of load
 * @param peer over which peer
 * @param ttlMillis the ttl of its locks
 * @param name of the lock, or how the names of the locks begin
 * @param count of threads; of locks to hold; of clients
 * @param startAtNanos when, on the monotonic clock that all processes of a machine share
 * @param lengthNanos for how long
 */
public record Order(
        Verb verb, PeerKind peer, long ttlMillis, String name, int count, long startAtNanos, long lengthNanos) {

    /** The kinds of load. */
    public enum Verb {
        /** Locks and unlocks in as many threads as asked for. */
        PAIRS,
        /** The same, every thread with names of its own that begin with the name. */
        DISTINCT,
        /** One thread: holds for some milliseconds, lets the other process take it, waits for it again. */
        HAND_OVERS,
        /** Each thread locks once and unlocks at once. */
        ONCE,
        /** Holds locks with different names, and says what that takes of the heap. */
        HEAP,
        /** Opens and uses as many further clients as asked for, and says what they add to the process. */
        FURTHER_CLIENTS
    }
}
