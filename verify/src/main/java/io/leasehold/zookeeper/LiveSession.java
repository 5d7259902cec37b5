package io.leasehold.zookeeper;

import java.util.HashSet;
import java.util.Set;

/**
 * A session as the model of an ensemble knows it.
 *
 * @param <C> its client
 */
final class LiveSession<C> {

    final long id;
    final long timeoutNanos;
    final C client;
    final Set<String> watched = new HashSet<>();
    long heardAtNanos;
    /** The newest transaction that its member has shown it. */
    long seen;
    /** The transaction that has ended it, or none yet. */
    long endedWith = Long.MAX_VALUE;

    long endedAtNanos;

    LiveSession(long id, long timeoutNanos, C client) {
        this.id = id;
        this.timeoutNanos = timeoutNanos;
        this.client = client;
    }

    /** How long the ensemble still keeps it without another sign of life. */
    long leftNanos(long nowNanos) {
        return heardAtNanos + timeoutNanos - nowNanos;
    }
}
