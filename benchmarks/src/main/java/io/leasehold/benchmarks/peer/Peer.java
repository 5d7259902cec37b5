package io.leasehold.benchmarks.peer;

import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/** One way to lock by name over a store, as its users would use it. Safe for use by any thread. */
public interface Peer extends AutoCloseable {

    /** Waits until the lock is held, in the way that is this peer's own. */
    Held acquire(String name) throws InterruptedException;

    /** The key that exists at the server for as long as the lock is held. */
    String keyOf(String name);

    /** The lock as one that its thread may take again; null if the peer has none. */
    default @Nullable Lock reentrant(String name) {
        return null;
    }

    @Override
    void close();

    /** A lock that is held. */
    interface Held {

        /** Gives it back and waits for the server's answer. */
        void release();
    }
}
