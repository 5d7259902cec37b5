package io.leasehold.verify.client;

/** Locks that are known to break, which the harness has to catch. */
public enum ControlKind {
    /** {@code SETNX}, then {@code PEXPIRE}: who dies in between leaves a lock for ever. */
    TWO_STEP,
    /** {@code GET}, and if there is nothing {@code SET}. */
    GET_THEN_SET,
    /** {@code SET NX PX} with one value for all, so that a compare before {@code DEL} tells nobody apart. */
    FIXED_VALUE,
    /** {@code SET NX PX}, then {@code DEL} whatever is there. */
    DEL_WITHOUT_COMPARE,
    /** {@code SET NX PX}, then {@code GET}, and if it is ours {@code DEL}, in two commands. */
    GET_THEN_DEL,
    /** {@code SET NX PX} on a majority of five nodes, with a counter on each for a token. */
    QUORUM_WITHOUT_BALLOT,
    /** Redisson's fenced lock as it comes. */
    REDISSON;

    /** Whether it needs a set of nodes. */
    public boolean needsQuorum() {
        return this == QUORUM_WITHOUT_BALLOT;
    }
}
