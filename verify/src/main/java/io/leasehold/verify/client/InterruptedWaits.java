package io.leasehold.verify.client;

import org.jspecify.annotations.Nullable;

/** Lets another thread interrupt one thread, but only while it waits for a lock. */
final class InterruptedWaits {

    private @Nullable Thread waiting;

    /** A wait that may be interrupted. */
    interface Waiting<T> {
        @Nullable
        T get() throws InterruptedException;
    }

    /** Interrupts the thread that is waiting for a lock, if any. */
    synchronized void interrupt() {
        if (waiting != null) {
            waiting.interrupt();
        }
    }

    private synchronized void waits(@Nullable Thread thread) {
        waiting = thread;
    }

    /**
     * Runs an attempt that may be interrupted. Interrupts must happen only here: an interrupt while the history is
     * written would close its file. Returns null if it was interrupted, like at the end of the patience.
     */
    <T> @Nullable T during(Waiting<T> attempt) {
        waits(Thread.currentThread());
        try {
            return attempt.get();
        } catch (InterruptedException e) {
            // This thread continues.
            return null;
        } finally {
            waits(null);
            Thread.interrupted();
        }
    }
}
