package io.leasehold.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Those who asked for a renewal of one grant and wait for it: the next answer is for all of them. */
final class RenewalsByHand {

    /** Guarded by {@code this}; most grants never have one. */
    private List<CompletableFuture<Void>> waiting = List.of();

    synchronized CompletableFuture<Void> add() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        waiting = new ArrayList<>(waiting);
        waiting.add(future);
        return future;
    }

    synchronized boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** @param error makes the failure of each, with a stack of its own; null for success */
    void finish(@Nullable Supplier<? extends RuntimeException> error) {
        List<CompletableFuture<Void>> asked;
        synchronized (this) {
            asked = waiting;
            waiting = List.of();
        }
        for (CompletableFuture<Void> future : asked) {
            if (error == null) {
                future.complete(null);
            } else {
                future.completeExceptionally(error.get());
            }
        }
    }
}
