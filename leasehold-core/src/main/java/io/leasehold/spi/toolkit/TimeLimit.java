package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Supplier;

/** Completes replies in time even if the store does not answer, as the contract of {@link LockStore} requires. */
public final class TimeLimit {

    private TimeLimit() {}

    /**
     * The result of the work if it completes in time; exceptional only if the conversion of an error itself fails.
     *
     * @param failed converts an error into a reply
     * @param late creates the reply when the time is up
     */
    public static <T> CompletableFuture<T> within(
            LockRuntime runtime,
            long limitNanos,
            Supplier<CompletableFuture<T>> work,
            Function<Throwable, T> failed,
            Supplier<T> late) {
        CompletableFuture<T> reply = new CompletableFuture<>();
        LockRuntime.Timer timer = runtime.schedule(limitNanos, () -> {
            if (!reply.isDone()) {
                complete(reply, late);
            }
        });
        start(work).whenComplete((value, error) -> {
            timer.cancel();
            complete(reply, () -> error == null ? value : failed.apply(error));
        });
        return reply;
    }

    /**
     * The same for administrative operations, which may fail.
     *
     * @param failed converts an error into the exception
     * @param late creates the exception when the time is up
     */
    public static <T> CompletableFuture<T> orFail(
            LockRuntime runtime,
            long limitNanos,
            Supplier<CompletableFuture<T>> work,
            Function<Throwable, LockStoreException> failed,
            Supplier<LockStoreException> late) {
        return TimeLimit.<CompletableFuture<T>>within(
                        runtime,
                        limitNanos,
                        () -> work.get().thenApply(CompletableFuture::completedFuture),
                        error -> CompletableFuture.failedFuture(failed.apply(error)),
                        () -> CompletableFuture.failedFuture(late.get()))
                .thenCompose(answer -> answer);
    }

    /**
     * Waits for an answer. Keeps the interrupt of a thread that is interrupted meanwhile.
     *
     * @param what the request, for messages: {@code connecting to zk://h}
     * @throws LockStoreException if it fails, or the thread is interrupted
     */
    public static <T> T await(LockRuntime runtime, CompletableFuture<T> answer, String what) {
        try {
            runtime.await(answer);
            return answer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreUnavailableException("interrupted while " + what, e);
        } catch (CompletionException e) {
            throw Failure.unwrapped(e) instanceof LockStoreException known
                    ? known
                    : new StoreUnavailableException(what + " failed: " + e.getCause(), e);
        }
    }

    /** A conversion that fails is the answer: otherwise the caller would wait for ever. */
    private static <T> void complete(CompletableFuture<T> reply, Supplier<T> value) {
        try {
            reply.complete(value.get());
        } catch (RuntimeException | Error e) {
            reply.completeExceptionally(e);
        }
    }

    /** The future of the work; what it throws, an Error of a driver included, is its failure, so that its waiter goes on. */
    public static <T> CompletableFuture<T> start(Supplier<CompletableFuture<T>> work) {
        try {
            return work.get();
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
