package io.leasehold.verify.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A way to lock, and to write down what the holder believes. */
interface Contender extends AutoCloseable {

    /** Waits at most so long; null if the lock stayed busy. */
    @Nullable
    Held acquire(String lock, Duration patience) throws InterruptedException;

    /** Two locks or none; the token is that of the first. */
    default @Nullable Held acquireBoth(String lock, String other, Duration patience) throws InterruptedException {
        throw new UnsupportedOperationException("this lock is one alone");
    }

    @Override
    void close();

    /** A lock that is held. */
    interface Held {

        /** The token that goes to the resource. */
        long token();

        /** Whether the holder may go on. */
        boolean stillHolds();

        /** Gives it back. */
        void release();
    }
}
