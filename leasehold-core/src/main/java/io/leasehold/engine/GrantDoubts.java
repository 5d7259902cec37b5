package io.leasehold.engine;

/**
 * The doubts about one grant, for which the store is asked until it has answered: after a suspension of the machine, or
 * a signal that the hold is gone. Pure. The {@link GrantMachine} has such an object only while there are doubts.
 */
final class GrantDoubts {

    /** The delay between attempts to confirm a lease in doubt if nothing else renews it; it doubles each time. */
    static final long FIRST_CONFIRM_NANOS = 100_000_000;

    private static final long MAX_CONFIRM_NANOS = 5_000_000_000L;

    private boolean unconfirmed;
    private long unconfirmedAtNanos;
    private int tries;
    /**
     * Whether the renewal in flight was sent before the suspension; its sending time does not show the length of the
     * suspension.
     */
    private boolean outdated;

    /** Whether a signal claims that the hold is gone, and no renewal sent since has refuted that. */
    private boolean doubted;
    /** Whether such a signal claims that an operator took the lock. */
    private boolean suspectedForce;
    /** Whether the renewal in flight was sent before that signal. */
    private boolean askAgain;

    /** The machine was suspended. */
    void suspended(long nowNanos, boolean isRenewing) {
        unconfirmed = true;
        unconfirmedAtNanos = nowNanos;
        tries = 0;
        outdated = isRenewing;
    }

    /** A signal claims that the hold is gone. */
    void doubted(boolean isRenewing) {
        doubted = true;
        tries = 0;
        askAgain = isRenewing;
    }

    /** A signal claims that an operator took the lock. */
    void suspectForce() {
        suspectedForce = true;
    }

    boolean suspectsForce() {
        return suspectedForce;
    }

    /** Whether no renewal has confirmed the grant since a suspension. */
    boolean isUnconfirmed() {
        return unconfirmed;
    }

    /** Whether the store must be asked. */
    boolean isOn() {
        return unconfirmed || doubted;
    }

    /** Whether the renewal in flight was sent before the last doubt; it has ended, so that the next one counts. */
    boolean takeOutdated() {
        boolean was = outdated;
        outdated = false;
        askAgain &= !was;
        return was;
    }

    /** The renewal in flight has failed. */
    void renewFailed() {
        outdated = false;
        askAgain = false;
    }

    /** Whether a renewal sent at this time proves nothing: a session's heartbeat from before the suspension. */
    boolean isFromBefore(long sentAtNanos) {
        return unconfirmed && sentAtNanos - unconfirmedAtNanos < 0;
    }

    /** A renewal has succeeded: it settles all doubts but that of a signal which came after it was sent. */
    void renewed() {
        unconfirmed = false;
        doubted &= askAgain;
        suspectedForce &= askAgain;
    }

    /** Whether to ask again at once, since the renewal that has succeeded was sent before the signal. */
    boolean asksAgain() {
        return askAgain;
    }

    void askedAgain() {
        askAgain = false;
    }

    /** Returns the pause before the next attempt to confirm the grant. */
    long nextPauseNanos() {
        return Math.min(MAX_CONFIRM_NANOS, FIRST_CONFIRM_NANOS << Math.min(tries++, 10));
    }
}
