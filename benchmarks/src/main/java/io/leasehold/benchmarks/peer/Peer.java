package io.leasehold.benchmarks.peer;

import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** One kind of lock by name over a store, used like in an application. Safe for use by any thread. */
public interface Peer extends AutoCloseable {

    /** Waits until the lock is held, in this peer's own way. */
    Held acquire(String name) throws InterruptedException;

    /** The key at the server as long as the lock is held. */
    String keyOf(String name);

    /** The lock as a reentrant one; null if the peer has none. */
    default @Nullable Lock reentrant(String name) {
        return null;
    }

    @Override
    void close();

    /** A held lock. */
    interface Held {

        /** Releases it and waits for the server's reply. */
        void release();
    }
}
