package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;

/** Completes replies in time, whatever the store does: what the contract of {@link LockStore} asks of each. */
public final class TimeLimit {

    private TimeLimit() {}

    /**
     * What the work completes with, as long as it is in time; never exceptional.
     *
     * @param failed makes a reply of an error
     * @param late makes the reply for when the time is up
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
                reply.complete(late.get());
            }
        });
        start(work).whenComplete((value, error) -> {
            timer.cancel();
            reply.complete(error == null ? value : failed.apply(error));
        });
        return reply;
    }

    /**
     * The same for the questions of operators, which may fail.
     *
     * @param failed makes the exception of an error
     * @param late makes the exception for when the time is up
     */
    public static <T> CompletableFuture<T> orFail(
            LockRuntime runtime,
            long limitNanos,
            Supplier<CompletableFuture<T>> work,
            Function<Throwable, LockStoreException> failed,
            Supplier<LockStoreException> late) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        LockRuntime.Timer timer = runtime.schedule(limitNanos, () -> {
            if (!answer.isDone()) {
                answer.completeExceptionally(late.get());
            }
        });
        start(work).whenComplete((value, error) -> {
            timer.cancel();
            if (error == null) {
                answer.complete(value);
            } else {
                answer.completeExceptionally(failed.apply(error));
            }
        });
        return answer;
    }

    private static <T> CompletableFuture<T> start(Supplier<CompletableFuture<T>> work) {
        try {
            return work.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
