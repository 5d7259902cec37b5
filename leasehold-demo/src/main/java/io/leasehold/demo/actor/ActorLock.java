package io.leasehold.demo.actor;

import java.time.Duration;

/** A lock of any {@link Scheme}, as an actor sees it. For one thread. */
interface ActorLock extends AutoCloseable {

    /**
     * Requests the lock until the patience ends; zero means one attempt.
     *
     * @param between called between two steps of the lock, if it needs two
     */
    Answer acquire(Duration patience, Interlude between) throws InterruptedException;

    @Override
    void close();

    /** The outcome of a request. */
    sealed interface Answer {}

    /**
     * The lock was granted, or seems to be.
     *
     * @param hold the hold
     */
    record Granted(Hold hold) implements Answer {}

    /**
     * The lock was not granted.
     *
     * @param reason the human-readable reason
     */
    record Denied(String reason) implements Answer {}

    /** The hold of an actor. */
    interface Hold {

        /** The fencing token; 0 if the lock has none. */
        long fencingToken();

        /** How long the holder may rely on it, to its knowledge; 0 if it is over, or if there is no lock. */
        long remainingNanos();

        /** Whether this duration is left, by the lock's own check. */
        boolean isValidFor(Duration duration);

        /** Calls back with the cause if it is lost and the lock reports that. */
        void onLost(LossListener listener);

        /** Releases it; returns the lock's answer. */
        String release(Interlude between) throws InterruptedException;
    }

    /** A listener for a loss. */
    interface LossListener {

        /** The hold is lost for this cause. */
        void lost(String cause);
    }
}
