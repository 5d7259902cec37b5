package io.leasehold.engine;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** What is waited for until the client is closed, and no longer. Safe for use by any thread. */
final class CloseEnds {

    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final Set<CompletableFuture<Void>> waits = ConcurrentHashMap.newKeySet();

    /** The close completes this, at once if it has been. */
    void ends(CompletableFuture<Void> wait) {
        waits.add(wait);
        if (closed.isDone()) {
            wait.complete(null);
        }
    }

    /** It is over. */
    void forget(CompletableFuture<Void> wait) {
        waits.remove(wait);
    }

    boolean isClosed() {
        return closed.isDone();
    }

    /** The client is closed. */
    void closed() {
        closed.complete(null);
        waits.forEach(wait -> wait.complete(null));
    }
}
