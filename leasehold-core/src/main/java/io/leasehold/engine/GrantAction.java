package io.leasehold.engine;

import io.leasehold.LossCause;

/** An action of a {@link GrantMachine} for its shell. */
sealed interface GrantAction {

    /** Send a renewal. */
    record Renew(boolean byHand) implements GrantAction {}

    /** Tell the callers that requested a renewal that there will be none. */
    record RefuseRenewal(LossCause why) implements GrantAction {}

    /** Send {@link GrantEvent.RenewDue} at this time. */
    record ArmRenew(long atNanos) implements GrantAction {}

    /** Send {@link GrantEvent.EndDue} at this time. */
    record ArmEnd(long atNanos) implements GrantAction {}

    /** Tell the listeners that a renewal is late, or will be. */
    record TellAtRisk(long remainingNanos) implements GrantAction {}

    /** Tell the listeners that the holder is gone: once, and only while the lock is held. */
    record TellAbandoned(LossCause cause) implements GrantAction {}

    /** Tell the listeners that the lease is lost. */
    record TellLost(LossCause cause) implements GrantAction {}

    /** The end at the store: the last action of a grant. */
    sealed interface End extends GrantAction {}

    /** It was held until now: release it, and tell the holder the outcome. */
    record SendRelease() implements End {}

    /** It was lost before: free what the store may still keep of it, and tell the holder the loss. */
    record SendUndo() implements End {}

    /** It was lost before, and the store keeps nothing of it, or keeps it until its own end: tell the holder the loss alone. */
    record LeaveToEnd() implements End {}
}
