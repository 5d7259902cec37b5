package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates the replies of a {@link LockStore} to requests for one lock: in time, and with errors as values, as its
 * contract requires. Safe for use by any thread.
 */
public final class TimedReplies {

    /** The translation of a store's errors. */
    public interface Errors {

        /**
         * Converts the failure of a request.
         *
         * @param what the request with its lock: {@code acquire of "order:1"}
         * @param error the error, without the exceptions that futures wrap around it
         */
        Failure of(String what, Throwable error);

        /** Creates the error for a time limit that has passed without an answer. */
        LockStoreException late(String what, long limitNanos);
    }

    private final LockRuntime runtime;
    private final Errors errors;

    /** Creates the replies of a store with these errors. */
    public TimedReplies(LockRuntime runtime, Errors errors) {
        this.runtime = runtime;
        this.errors = errors;
    }

    /** The reply of the work, within the time limit of the request. */
    public CompletableFuture<AcquireReply> acquire(
            AcquireRequest request, Supplier<CompletableFuture<AcquireReply>> work) {
        String what = "acquire of \"" + request.name() + "\"";
        return TimeLimit.within(
                runtime,
                request.timeoutNanos(),
                work,
                error -> {
                    Failure failure = failure(what, error);
                    return new AcquireReply.Failed(failure.kind(), failure.error(), 0);
                },
                () -> new AcquireReply.Failed(FailureKind.UNKNOWN, errors.late(what, request.timeoutNanos()), 0));
    }

    /**
     * As the other {@code acquire}, for a store that remembers attempts. The engine does not end an attempt that receives
     * busy, since it has already left the queue, nor one that does not wait and has failed without an effect.
     *
     * @param end ends such an attempt, which is not remembered
     */
    public CompletableFuture<AcquireReply> acquire(
            AcquireRequest request, Supplier<CompletableFuture<AcquireReply>> work, Runnable end) {
        return acquire(request, work).whenComplete((reply, error) -> {
            if (reply instanceof AcquireReply.Busy || (!request.isWaiting() && hasFailedForCertain(reply))) {
                end.run();
            }
        });
    }

    private static boolean hasFailedForCertain(@Nullable AcquireReply reply) {
        return reply instanceof AcquireReply.Failed failed && failed.kind() != FailureKind.UNKNOWN;
    }

    /** The reply of the work for one item of a batch, within the time limit of the batch. */
    public CompletableFuture<RenewReply.Item> renew(
            RenewBatch.Item item, long limitNanos, Supplier<CompletableFuture<RenewReply.Item>> work) {
        String what = "renewal of \"" + item.name() + "\"";
        return TimeLimit.within(
                runtime,
                limitNanos,
                work,
                error -> new RenewReply.Failed(failure(what, error).error()),
                () -> new RenewReply.Failed(errors.late(what, limitNanos)));
    }

    /**
     * The reply within the time limit of the request.
     *
     * @param removal the work; its result is whether a hold was removed
     */
    public CompletableFuture<ReleaseReply> release(
            ReleaseRequest request, Supplier<CompletableFuture<Boolean>> removal) {
        String what = "release of " + request.names();
        return TimeLimit.within(
                runtime,
                request.timeoutNanos(),
                () -> removal.get().thenApply(held -> held ? new ReleaseReply.Released() : new ReleaseReply.NotOurs()),
                error -> {
                    Failure failure = failure(what, error);
                    return new ReleaseReply.Failed(failure.kind(), failure.error());
                },
                () -> new ReleaseReply.Failed(FailureKind.UNKNOWN, errors.late(what, request.timeoutNanos())));
    }

    /** The answer to an administrative request, within the time limit; fails with a {@link LockStoreException}. */
    public <T> CompletableFuture<T> orFail(String what, long limitNanos, Supplier<CompletableFuture<T>> work) {
        return TimeLimit.orFail(
                runtime, limitNanos, work, error -> failure(what, error).error(), () -> errors.late(what, limitNanos));
    }

    private Failure failure(String what, Throwable error) {
        return errors.of(what, Failure.unwrapped(error));
    }
}
