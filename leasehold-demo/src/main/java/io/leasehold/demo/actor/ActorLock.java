package io.leasehold.demo.actor;

import java.time.Duration;

/** A lock of any {@link Scheme}, as an actor sees it. For one thread. */
interface ActorLock extends AutoCloseable {

    /**
     * Requests the lock until the patience ends; zero means one attempt.
     *
     * @param between called between the two steps of the lock, if it has two
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
     * @param reason the reason, as readable text
     */
    record Denied(String reason) implements Answer {}

    /** The hold of an actor. */
    interface Hold {

        /** The fencing token; 0 if the lock has none. */
        long fencingToken();

        /**
         * The time for which the holder may rely on it, to its knowledge; 0 if it has ended, or if there is no lock.
         */
        long remainingNanos();

        /** Whether this duration is left, by the lock's own check. */
        boolean isValidFor(Duration duration);

        /** Calls the listener with the cause if the hold is lost and the lock reports that. */
        void onLost(LossListener listener);

        /** Releases it; returns the lock's answer. */
        String release(Interlude between) throws InterruptedException;
    }

    /** A listener for a loss. */
    interface LossListener {

        /** Called with the cause when the hold is lost. */
        void lost(String cause);
    }
}
