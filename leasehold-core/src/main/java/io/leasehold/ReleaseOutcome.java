package io.leasehold;

/** The outcome of a release, as far as the client knows it. The list is complete for this version; a later one may add values. */
public enum ReleaseOutcome {
    /** The store confirmed that it deleted this hold (with several nodes: a quorum of them did). */
    RELEASED,
    /** The hold had ended before the release was called, or the store reported that inside the validity. */
    ALREADY_LOST,
    /** It was released before {@link LockOptions#atLeast(java.time.Duration)} had passed: the lock stays taken, without a holder, until then. */
    KEPT,
    /** It was {@linkplain Lease#export exported}: the store keeps the lock for the ticket. */
    EXPORTED,
    /** It was {@linkplain WriteLease#downgrade downgraded}: a read lease has taken its place. */
    DOWNGRADED,
    /**
     * No answer proved any of these outcomes. The client repeats the request in the background until it is answered or
     * the ttl has passed, so that the lock is free by then at the latest.
     */
    UNCONFIRMED
}
