package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.spi.InlineThread;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The boundary between futures and callers: blocks threads, and delivers results to user code. */
final class Futures {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private Futures() {}

    /** Waits for a result that arrives within a bounded time; an interrupt is kept for later. */
    static <T> T join(LockRuntime runtime, CompletableFuture<T> future) {
        runtime.awaitUninterruptibly(future);
        return result(future);
    }

    /** Waits until the future is done, but no longer than the patience; an interrupt is kept for later. */
    static void joinAtMost(LockRuntime runtime, CompletableFuture<?> future, long patienceNanos) {
        if (future.isDone()) {
            return;
        }
        CompletableFuture<Void> late = new CompletableFuture<>();
        LockRuntime.Timer limit = runtime.schedule(patienceNanos, () -> late.complete(null));
        join(runtime, CompletableFuture.anyOf(future, late));
        limit.cancel();
    }

    /** Returns the result of a future that is done; throws its failure with the stack of the caller. */
    static <T> T result(CompletableFuture<T> done) {
        try {
            return done.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw CallersStack.given(cause);
            }
            throw e;
        } catch (CancellationException e) {
            throw CallersStack.given(e);
        }
    }

    /** Returns the answer of a store. A store that throws instead, even for lack of memory or threads, has failed. */
    static <T> CompletableFuture<T> ask(Supplier<CompletableFuture<T>> store) {
        try {
            return store.get();
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Delivers an event to user code. If no thread is available, the event runs here. */
    static void execute(LockRuntime runtime, Runnable news) {
        AtomicBoolean begun = new AtomicBoolean();
        try {
            runtime.execute(() -> {
                begun.set(true);
                news.run();
            });
        } catch (RuntimeException | Error e) {
            if (begun.get()) {
                // The event ran on the submitting thread, and the failure is its own.
                throw e;
            }
            LOG.error(
                    "no thread could be had for a callback; it runs on \"{}\"",
                    Thread.currentThread().getName(),
                    e);
            InlineThread.run(() -> guarded("a callback", news));
        }
    }

    /** Runs a step on which no later step depends: a failure, including an Error, is logged and not thrown. */
    static void guarded(String what, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            LOG.error("{} of the lock client failed unexpectedly", what, e);
        }
    }

    /** Returns the failure of a stage without the exception that wraps the failure of an earlier stage. */
    static Throwable unwrapped(Throwable error) {
        Throwable cause = error instanceof CompletionException ? error.getCause() : null;
        return cause != null ? cause : error;
    }

    /** Returns a future with the same result, completed on a callback thread: dependent stages may block. */
    static <T> CompletableFuture<T> onCallbackExecutor(LockRuntime runtime, CompletableFuture<T> source) {
        CompletableFuture<T> handed = new CompletableFuture<>();
        source.whenComplete((value, error) -> execute(runtime, () -> {
            if (error != null) {
                handed.completeExceptionally(unwrapped(error));
            } else {
                handed.complete(value);
            }
        }));
        return handed;
    }

    /** Whether the step has succeeded. An Error in it does not prevent the release of the lock at the store. */
    static boolean succeeds(LockName lock, String what, BooleanSupplier step) {
        try {
            return step.getAsBoolean();
        } catch (RuntimeException | Error e) {
            LOG.error("lock \"{}\" could not be {}; it is released", lock, what, e);
            return false;
        }
    }
}
