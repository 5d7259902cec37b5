package io.leasehold.redis.node;

import io.leasehold.Guarantees;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.wire.KeyLayout;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The spans of the protocol at one node, part of the wire format: all clients of a lock must use the same retention
 * and bound.
 *
 * @param retentionMicros how long a fence outlives its use: no clock of the node may go back by more than this
 * @param boundMicros how far ahead of the node's clock a fencing token may run
 * @param graceMillis what a place in the queue is kept for beyond the silence its waiter announced
 * @param windowMicros how long a waiter that is woken may take before its place is lost
 * @param guarantees what the node promises as a store of its own
 * @param member whether it is a member of a set of nodes, so that releases hand nothing over
 * @param keys where locks are
 * @param acknowledgement by how many replicas an acquire has to be acknowledged
 */
public record NodeSettings(
        long retentionMicros,
        long boundMicros,
        long graceMillis,
        long windowMicros,
        Guarantees guarantees,
        boolean member,
        KeyLayout keys,
        Acknowledgement acknowledgement) {

    private static final Duration RETENTION = Duration.ofSeconds(60);
    private static final Duration BOUND = Duration.ofMillis(7_500);
    private static final Duration GRACE = Duration.ofSeconds(3);
    private static final Duration WINDOW = GRACE;

    /** Retention 60 s, bound 7.5 s, claim and window 3 s. */
    public static NodeSettings standard(Guarantees guarantees) {
        return new NodeSettings(
                micros(RETENTION),
                micros(BOUND),
                GRACE.toMillis(),
                micros(WINDOW),
                guarantees,
                false,
                KeyLayout.standard(),
                Acknowledgement.NONE);
    }

    /** Those of a member of a set. */
    public static NodeSettings ofMember(Guarantees guarantees) {
        return new NodeSettings(
                micros(RETENTION),
                micros(BOUND),
                GRACE.toMillis(),
                micros(WINDOW),
                guarantees,
                true,
                KeyLayout.standard(),
                Acknowledgement.NONE);
    }

    /** The same with the locks elsewhere. */
    public NodeSettings keys(KeyLayout layout) {
        return new NodeSettings(
                retentionMicros, boundMicros, graceMillis, windowMicros, guarantees, member, layout, acknowledgement);
    }

    /** These, with acquires that replicas acknowledge. */
    public NodeSettings acknowledged(Acknowledgement wanted) {
        return new NodeSettings(
                retentionMicros, boundMicros, graceMillis, windowMicros, guarantees, member, keys, wanted);
    }

    /** How long a place is kept for a waiter that will ask again after this at the latest. */
    long placeMillis(long recheckNanos) {
        return graceMillis + ceilMillis(recheckNanos + recheckNanos / 5);
    }

    /** Rounded up: nothing at the server ends before its ttl. */
    static long ceilMillis(long nanos) {
        return -Math.floorDiv(-nanos, 1_000_000L);
    }

    private static long micros(Duration span) {
        return TimeUnit.NANOSECONDS.toMicros(span.toNanos());
    }
}
