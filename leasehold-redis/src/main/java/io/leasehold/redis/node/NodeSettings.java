package io.leasehold.redis.node;

import io.leasehold.Guarantees;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The durations of the protocol at one node. They are part of the wire format: all clients of a lock must use the same
 * retention and bound.
 *
 * @param retentionMicros how long a fence outlives its use; the clock of the node must not go back by more than this
 * @param boundMicros how far ahead of the node's clock a fencing token may run
 * @param graceMillis how long a place in the queue is kept beyond the silence that its waiter announced
 * @param windowMicros how long a woken waiter may take before it loses its place
 * @param guarantees the guarantees of the node as a store of its own
 * @param member whether the node is a member of a set, so that releases hand no lock over
 * @param keys the key layout of the locks
 * @param acknowledgement the required acknowledgement of an acquire by replicas
 * @param lifeCheck how a script knows the run id of its server: a member that may forget compares its birth marker with it, and
 *     a hand-over names it
 */
public record NodeSettings(
        long retentionMicros,
        long boundMicros,
        long graceMillis,
        long windowMicros,
        Guarantees guarantees,
        boolean member,
        KeyLayout keys,
        Acknowledgement acknowledgement,
        LifeCheck lifeCheck) {

    /**
     * Checks the settings.
     *
     * @throws IllegalArgumentException for {@link LifeCheck#DURABLE}: each life must prove that it has kept all data,
     *     whatever was declared
     */
    public NodeSettings {
        if (lifeCheck == LifeCheck.DURABLE) {
            throw new IllegalArgumentException("no server is durable by its settings here");
        }
    }

    private static final Duration RETENTION = Duration.ofSeconds(60);
    private static final Duration BOUND = Duration.ofMillis(7_500);
    private static final Duration GRACE = Duration.ofSeconds(3);
    private static final Duration WINDOW = GRACE;

    /** The standard settings: retention 60 s, bound 7.5 s, grace and window 3 s. */
    public static NodeSettings standard(Guarantees guarantees) {
        return new NodeSettings(
                micros(RETENTION),
                micros(BOUND),
                GRACE.toMillis(),
                micros(WINDOW),
                guarantees,
                false,
                KeyLayout.standard(),
                Acknowledgement.NONE,
                LifeCheck.CONNECTION_IF_DIRECT);
    }

    /** The settings of a member of a set. */
    public static NodeSettings ofMember(Guarantees guarantees) {
        return new NodeSettings(
                micros(RETENTION),
                micros(BOUND),
                GRACE.toMillis(),
                micros(WINDOW),
                guarantees,
                true,
                KeyLayout.standard(),
                Acknowledgement.NONE,
                LifeCheck.CONNECTION_IF_DIRECT);
    }

    /** The same settings with another key layout. */
    public NodeSettings keys(KeyLayout layout) {
        return new NodeSettings(
                retentionMicros,
                boundMicros,
                graceMillis,
                windowMicros,
                guarantees,
                member,
                layout,
                acknowledgement,
                lifeCheck);
    }

    /** The same settings with acquires that replicas acknowledge. */
    public NodeSettings acknowledged(Acknowledgement wanted) {
        return new NodeSettings(
                retentionMicros, boundMicros, graceMillis, windowMicros, guarantees, member, keys, wanted, lifeCheck);
    }

    /** The same settings with another comparison of the birth marker. */
    public NodeSettings checking(LifeCheck life) {
        return new NodeSettings(
                retentionMicros,
                boundMicros,
                graceMillis,
                windowMicros,
                guarantees,
                member,
                keys,
                acknowledgement,
                life);
    }

    /** How long a place is kept for a waiter that sends a new request after this time at the latest. */
    long placeMillis(long recheckNanos) {
        return graceMillis + ceilMillis(recheckNanos + recheckNanos / 5);
    }

    /** Converts to milliseconds and rounds up, so that nothing at the server ends before its ttl. */
    static long ceilMillis(long nanos) {
        return -Math.floorDiv(-nanos, 1_000_000L);
    }

    private static long micros(Duration span) {
        return TimeUnit.NANOSECONDS.toMicros(span.toNanos());
    }
}
