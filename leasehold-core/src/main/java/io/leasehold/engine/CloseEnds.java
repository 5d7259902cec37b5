package io.leasehold.engine;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The waits that end, at the latest, when the client has closed. Safe for use by any thread. */
final class CloseEnds {

    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final ConcurrentMap<Object, CompletableFuture<Void>> waits = new ConcurrentHashMap<>();

    /**
     * Completes the wait at the close, at once if the client has closed.
     *
     * @return removes it
     */
    Runnable ends(CompletableFuture<Void> wait) {
        Object key = new Object();
        waits.put(key, wait);
        if (closed.isDone()) {
            wait.complete(null);
        }
        return () -> waits.remove(key);
    }

    boolean isClosed() {
        return closed.isDone();
    }

    /** The client is closed. */
    void closed() {
        closed.complete(null);
        waits.values().forEach(wait -> wait.complete(null));
    }
}
