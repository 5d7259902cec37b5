package io.leasehold.engine;

import io.leasehold.LossCause;

/** What happens to a grant, as its {@link GrantMachine} takes it in. */
sealed interface GrantEvent {

    /** The time for a renewal has come, or the holder asks for one. */
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

    /** It is known from outside that the lease is over. */
    record TakenAway(LossCause cause) implements GrantEvent {}

    /** It is said that an operator took it, which the store's answer to the next renewal will show. */
    record SuspectedForce() implements GrantEvent {}

    /** The holder is gone: no more renewals, and this is the cause when the validity ends. */
    record Abandoned(LossCause cause) implements GrantEvent {}

    /** The machine was suspended: the monotonic clock has not counted, so nothing is known until a renewal succeeds. */
    record Suspended() implements GrantEvent {}

    /** The store has lost contact to what keeps the lease; the next renewal will tell. */
    record ContactLost() implements GrantEvent {}

    /** The holder gives it back. */
    record ReleaseCalled(Keeping keeping) implements GrantEvent {}

    /** The client closes, and the holder has not given it back in time. */
    record Deserted(Keeping keeping) implements GrantEvent {}

    /**
     * How long others must not have the lock, however its lease ends.
     *
     * @param fromAtNanos when the lease began
     * @param forNanos {@code LockOptions.atLeast}; zero for a lease that no caller has seen
     */
    record Keeping(long fromAtNanos, long forNanos) {

        /** Zero keeps nothing, also where the clock has gone back since. */
        boolean isOn(long nowNanos) {
            return forNanos > 0 && fromAtNanos + forNanos - nowNanos > 0;
        }
    }
}
