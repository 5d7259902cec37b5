package io.leasehold;

/** What is known after a release. The list is closed; handle unknown values all the same. */
public enum ReleaseOutcome {
    /** The store confirmed that it deleted this hold (over a quorum: a quorum did). */
    RELEASED,
    /** The hold had ended before the release was called, or the store said so inside the validity. */
    ALREADY_LOST,
    /** It was given back before {@link LockOptions#atLeast(java.time.Duration)} had passed: the lock stays taken, without a holder, until then. */
    KEPT,
    /**
     * No answer proved either. The request is repeated in the background until it is answered or the
     * ttl has passed, so that the lock is free by then at the latest.
     */
    UNCONFIRMED
}
