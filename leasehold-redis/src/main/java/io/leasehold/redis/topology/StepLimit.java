package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** The time limit of a step that a driver may never complete or that may throw in place of an answer. */
final class StepLimit {

    private static final long PUSHES_NANOS = 3_000_000_000L;

    private StepLimit() {}

    /**
     * Starts a step. The future fails if the step throws or does not complete in time.
     *
     * @param late makes the failure of a step that takes too long
     * @param unwanted gets a result that comes after the limit
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

    /**
     * Sends a question over a separate connection, which is closed after the answer. The limit includes the time to
     * connect.
     */
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
                    return Handshake.first(() -> question.apply(connection), runtime);
                }),
                nanos,
                late,
                unwanted -> {},
                runtime);
        // Also close a connection that comes after the limit or that does not answer.
        answer.whenComplete((done, error) -> made.thenAccept(RedisConnection::close));
        return answer;
    }

    /**
     * Opens a connection for pushes within 3 s. The limit includes the request for the credentials, after which the
     * driver's own limit starts.
     */
    static CompletableFuture<PushConnection> ofPushes(
            Driver driver, RedisUri server, RedisErrors errors, LockRuntime runtime) {
        return listening(() -> driver.connectForPushes(server), errors, runtime);
    }

    /** Opens a connection that reports changes to keys, with the same limit. */
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
