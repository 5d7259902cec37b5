package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** The time limit of a step that a driver may never end, or that may throw in place of an answer. */
final class StepLimit {

    private static final long PUSHES_NANOS = 3_000_000_000L;

    private StepLimit() {}

    /**
     * Takes a step; fails if it throws, or is not done in time.
     *
     * @param late the failure where it takes too long
     * @param unwanted takes what comes after that
     */
    static <T> CompletableFuture<T> of(
            Supplier<CompletableFuture<T>> step,
            long nanos,
            Supplier<LockStoreException> late,
            Consumer<? super T> unwanted,
            LockRuntime runtime) {
        CompletableFuture<T> limited = new CompletableFuture<>();
        try {
            LockRuntime.Timer limit = runtime.schedule(nanos, () -> limited.completeExceptionally(late.get()));
            limited.whenComplete((done, error) -> limit.cancel());
            step.get().whenComplete((done, error) -> {
                if (error != null) {
                    limited.completeExceptionally(Failure.unwrapped(error));
                } else if (!limited.complete(done)) {
                    unwanted.accept(done);
                }
            });
        } catch (RuntimeException | Error e) {
            limited.completeExceptionally(e);
        }
        return limited;
    }

    /** Asks over a connection of its own, which ends with the answer; in time, also where the connection does not come. */
    static <T> CompletableFuture<T> ofQuestion(
            Driver driver,
            RedisUri server,
            Function<RedisConnection, CompletableFuture<T>> question,
            long nanos,
            Supplier<LockStoreException> late,
            LockRuntime runtime) {
        CompletableFuture<RedisConnection> made = new CompletableFuture<>();
        CompletableFuture<T> answer = of(
                () -> driver.connect(server).thenCompose(connection -> {
                    made.complete(connection);
                    return question.apply(connection);
                }),
                nanos,
                late,
                unwanted -> {},
                runtime);
        // Also one that comes after the limit, or that says nothing.
        answer.whenComplete((done, error) -> made.thenAccept(RedisConnection::close));
        return answer;
    }

    /** Makes a connection for pushes within 3 s: its credentials are asked for, and the driver's limit begins after that. */
    static CompletableFuture<PushConnection> ofPushes(
            Driver driver, RedisUri server, RedisErrors errors, LockRuntime runtime) {
        return listening(() -> driver.connectForPushes(server), errors, runtime);
    }

    /** Makes a connection that tells of changes to keys, in the same time. */
    static CompletableFuture<TrackingConnection> ofTracking(
            Driver driver, RedisUri server, RedisErrors errors, LockRuntime runtime) {
        return listening(() -> driver.connectForTracking(server), errors, runtime);
    }

    private static <C extends LiveConnection> CompletableFuture<C> listening(
            Supplier<CompletableFuture<C>> connecting, RedisErrors errors, LockRuntime runtime) {
        return of(
                connecting,
                PUSHES_NANOS,
                () -> errors.unavailable("could not be connected to in time", null),
                LiveConnection::close,
                runtime);
    }
}
