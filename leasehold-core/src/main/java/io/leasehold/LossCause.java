package io.leasehold;

/**
 * Why a hold ended before it was released.
 *
 * <p>The list is part of the contract and complete for this version; a later one may add causes, so handle unknown
 * values.
 */
public enum LossCause {
    /** The validity ended: no renewal succeeded in time, or none was due. */
    EXPIRED,
    /** The store answered that the lock is gone or has another holder. */
    NOT_OURS,
    /** An operator released the lock by force. */
    FORCE_RELEASED,
    /** The hold reached {@link LockOptions#maxHold()} and was no longer renewed. */
    MAX_HOLD,
    /** The session that kept the lock alive at the store has ended. */
    SESSION_LOST,
    /** The client was closed while the lock was held. */
    CLIENT_CLOSED,
    /**
     * The thread that held the lock through a reentrant view has died without unlocking; the hold was no longer
     * renewed.
     */
    THREAD_DIED,
    /** The handle became unreachable without a release; the hold was no longer renewed. */
    LEAKED
}
