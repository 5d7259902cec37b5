package io.leasehold;

/**
 * The outcome of {@link Candidacy#handOver}, as far as the client knows it. The list is complete for this version; a later
 * one may add values.
 */
public enum HandOverOutcome {
    /**
     * The named candidate was the first in the queue when the lock was released; with {@link LockOptions#atLeast}, it gets the
     * lock after that time. It leads unless it withdraws or is dead: then the queue continues, at the latest when the store has kept
     * the lock for it for one claim.
     */
    HANDED_OVER,
    /**
     * The term has ended, and the candidates come in their order: the named one was not waiting at the store, another one was
     * named before, or the release had begun. Also if the store did not say in time whether the named one comes first.
     */
    RELEASED,
    /** The candidate did not lead, or its term was lost before the release was confirmed. */
    ALREADY_LOST,
    /** The store has not confirmed the release: see {@link ReleaseOutcome#UNCONFIRMED}. */
    UNCONFIRMED
}
