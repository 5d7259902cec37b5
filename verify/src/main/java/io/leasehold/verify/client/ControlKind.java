package io.leasehold.verify.client;

/** Locks that are known to break, which the harness must detect. */
public enum ControlKind {
    /** {@code SETNX}, then {@code PEXPIRE}: a client that dies in between leaves a lock forever. */
    TWO_STEP,
    /** {@code GET}, and {@code SET} if there is no value. */
    GET_THEN_SET,
    /** {@code SET NX PX} with one value for all clients, so that a compare before {@code DEL} identifies no client. */
    FIXED_VALUE,
    /** {@code SET NX PX}, then {@code DEL} whatever the value. */
    DEL_WITHOUT_COMPARE,
    /** {@code SET NX PX}, then {@code GET}, and {@code DEL} if the value is the client's own, in two commands. */
    GET_THEN_DEL,
    /** {@code SET NX PX} on a majority of five nodes, with a counter on each for a token. */
    QUORUM_WITHOUT_BALLOT,
    /** Redisson's fenced lock with its defaults. */
    REDISSON;

    /** Whether it needs several nodes. */
    public boolean needsQuorum() {
        return this == QUORUM_WITHOUT_BALLOT;
    }
}
