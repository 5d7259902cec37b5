package io.leasehold.engine;

import io.leasehold.LossCause;

/** An event of a grant, processed by its {@link GrantMachine}. */
sealed interface GrantEvent {

    /** A renewal is due, or the holder requests one. */
    record RenewDue(boolean byHand) implements GrantEvent {}

    /** A renewal that {@link GrantMachine#beginSending} allowed has left, in order, for the store. */
    record RenewalSent() implements GrantEvent {}

    /** The store has extended it; the ttl counts from {@code sentAtNanos}. */
    record Renewed(long sentAtNanos) implements GrantEvent {}

    /** A renewal failed. */
    record RenewFailed() implements GrantEvent {}

    /** The store has answered that the hold is gone. */
    record Denied() implements GrantEvent {}

    /** The end may have come. */
    record EndDue() implements GrantEvent {}

    /** Another source has reported that the lease is over. */
    record TakenAway(LossCause cause) implements GrantEvent {}

    /** A signal claims that an operator took it; the answer to the next renewal will confirm or refute that. */
    record SuspectedForce() implements GrantEvent {}

    /** The holder is gone: no more renewals, and this is the cause when the validity ends. */
    record Abandoned(LossCause cause) implements GrantEvent {}

    /** The machine was suspended: the monotonic clock has not counted, so nothing is known until a renewal succeeds. */
    record Suspended() implements GrantEvent {}

    /** The store has lost contact with the session that keeps the lease; the next renewal decides. */
    record ContactLost() implements GrantEvent {}

    /** The holder gives it back. */
    record ReleaseCalled(Keeping keeping) implements GrantEvent {}

    /** The client closes, and the holder has not given it back in time. */
    record Deserted(Keeping keeping) implements GrantEvent {}

    /**
     * The time during which other clients must not have the lock, however its lease ends.
     *
     * @param fromAtNanos when the lease began
     * @param forNanos {@code LockOptions.atLeast}; zero for a lease that no caller has seen
     */
    record Keeping(long fromAtNanos, long forNanos) {

        /** Whether it is still on; zero keeps nothing, even if the clock has gone back since. */
        boolean isOn(long nowNanos) {
            return forNanos > 0 && fromAtNanos + forNanos - nowNanos > 0;
        }
    }
}
