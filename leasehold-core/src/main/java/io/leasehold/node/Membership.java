package io.leasehold.node;

/**
 * The data about the set that a member of a quorum receives with each {@link Ballot}, so that it refuses while it may have lost grants.
 *
 * <p>The age of the node's memory is {@code estimateMicros} − the birth in its marker. The estimate is the one from which the
 * ballot's candidate was derived, taken for this sending; it is never the clock of the single node.
 *
 * @param configuration the set as this client knows it: its nodes, by their names, and the largest ttl
 * @param estimateMicros the clock of the set, in microseconds since 1970
 * @param quarantineMicros the age from which on the node grants
 * @param boundMicros how far ahead of the node's clock and fence a ballot may be
 * @param persistence what survives a restart of the node
 */
public record Membership(
        String configuration, long estimateMicros, long quarantineMicros, long boundMicros, Persistence persistence) {

    /** The part of the memory that survives a restart of a node. */
    public enum Persistence {
        /** Perhaps nothing, or an old state: each new life needs a new birth. */
        VOLATILE,
        /** Every acknowledged write: a restart forgets nothing. Only an absent marker means that it has lost its state. */
        DURABLE
    }
}
