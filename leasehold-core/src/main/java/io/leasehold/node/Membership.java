package io.leasehold.node;

import java.util.Objects;

/**
 * What a member of a quorum is told with each {@link Ballot}, so that it refuses while it may have forgotten.
 *
 * <p>The age of the node's memory is {@code estimateMicros} − the birth in its marker. The estimate is the one from which
 * the ballot's candidate was made, taken for this sending; it is never the clock of the one node.
 *
 * @param configuration the set as this client knows it: its nodes, by their names, and the largest ttl
 * @param estimateMicros the clock of the set, in microseconds since 1970
 * @param quarantineMicros the age from which on the node grants
 * @param boundMicros how far ahead of the node's clock and fence a ballot may be
 * @param persistence what the node keeps over a restart
 */
public record Membership(
        String configuration, long estimateMicros, long quarantineMicros, long boundMicros, Persistence persistence) {

    /** Refuses nulls. */
    public Membership {
        Objects.requireNonNull(configuration, "configuration");
        Objects.requireNonNull(persistence, "persistence");
    }

    /** What a node keeps over a restart. */
    public enum Persistence {
        /** Perhaps nothing, or something old: each new life has to be born again. */
        VOLATILE,
        /** Every acknowledged write: a restart forgets nothing. Only an absent marker means that it has forgotten. */
        DURABLE
    }
}
