package io.leasehold.verify.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A way to lock, and to record the holder's beliefs. */
interface Contender extends AutoCloseable {

    /** Waits at most this long; returns null if the lock stayed busy. */
    @Nullable
    Held acquire(String lock, Duration patience) throws InterruptedException;

    /** Acquires two locks or none; the token is that of the first. */
    default @Nullable Held acquireBoth(String lock, String other, Duration patience) throws InterruptedException {
        throw new UnsupportedOperationException("this lock is one alone");
    }

    @Override
    void close();

    /** A held lock. */
    interface Held {

        /** The token for the resource. */
        long token();

        /** Whether the holder may continue. */
        boolean stillHolds();

        /** Whether the holder may only read the resource. */
        default boolean onlyReads() {
            return false;
        }

        /** The resource that it protects; by default that of the lock. */
        default String resource(String lock) {
            return lock;
        }

        /** Releases it. */
        void release();

        /** Ends it, in most cases by a release; returns the hold that takes its place, or null. */
        default @Nullable Held leave() {
            release();
            return null;
        }
    }
}
