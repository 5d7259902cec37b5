package io.leasehold.demo.actor;

import java.time.Duration;

/** A lock of any {@link Scheme}, as an actor sees it. For one thread. */
interface ActorLock extends AutoCloseable {

    /**
     * Asks for it, and goes on asking for as long as the patience lasts; zero is one try.
     *
     * @param between called where the lock takes two steps, between them
     */
    Answer acquire(Duration patience, Interlude between) throws InterruptedException;

    @Override
    void close();

    /** What came of it. */
    sealed interface Answer {}

    /**
     * It is ours, or seems to be.
     *
     * @param hold what we have
     */
    record Granted(Hold hold) implements Answer {}

    /**
     * It is not.
     *
     * @param reason why, for people
     */
    record Denied(String reason) implements Answer {}

    /** What an actor has that was granted the lock. */
    interface Hold {

        /** The fencing token; 0 if the lock has none. */
        long fencingToken();

        /** How long the holder may rely on it, as it knows; 0 if it is over, or if there is no lock. */
        long remainingNanos();

        /** Whether so much is left, by whatever check the lock has. */
        boolean isValidFor(Duration duration);

        /** Calls back if it is lost and the lock tells; with the cause. */
        void onLost(LossListener listener);

        /** Gives it back; says what the lock says to that. */
        String release(Interlude between) throws InterruptedException;
    }

    /** Who hears of a loss. */
    interface LossListener {

        /** It is lost, for this cause. */
        void lost(String cause);
    }
}
