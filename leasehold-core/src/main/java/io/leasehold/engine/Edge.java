package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** The edge between futures and callers: where threads block, and where user code is handed results. */
final class Edge {

    private Edge() {}

    /** Waits for a result that comes within a bounded time; an interrupt is kept for later. */
    static <T> T join(LockRuntime runtime, CompletableFuture<T> future) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    runtime.await(future);
                    return result(future);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The result of a future that is done; its failure is thrown with the stack of the caller. */
    static <T> T result(CompletableFuture<T> done) {
        try {
            return done.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                cause.fillInStackTrace();
                throw cause;
            }
            throw e;
        } catch (CancellationException e) {
            e.fillInStackTrace();
            throw e;
        }
    }

    /** What a store answers; one that throws instead has failed. */
    static <T> CompletableFuture<T> ask(Supplier<CompletableFuture<T>> store) {
        try {
            return store.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** The same result, on the callback executor: what depends on it may block. */
    static <T> CompletableFuture<T> onCallbackExecutor(LockRuntime runtime, CompletableFuture<T> source) {
        CompletableFuture<T> handed = new CompletableFuture<>();
        source.whenComplete((value, error) -> runtime.execute(() -> {
            if (error != null) {
                handed.completeExceptionally(error instanceof CompletionException ? error.getCause() : error);
            } else {
                handed.complete(value);
            }
        }));
        return handed;
    }
}
