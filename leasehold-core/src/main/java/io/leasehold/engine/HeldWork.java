package io.leasehold.engine;

import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Work that runs while a lock is held. It begins on an executor, with a valid hold and only if it has not been cancelled
 * before; its result reports a loss of the hold.
 *
 * @param <H> the kind of hold
 * @param <T> the result of the work
 */
final class HeldWork<H extends Hold, T> {

    private final PendingAttempt<H> pending;
    private final Function<? super H, ? extends CompletionStage<T>> work;
    private final Workers workers;
    /** Completes when the work begins; a cancellation withdraws the hold only until then. */
    private final CompletableFuture<H> taken;

    private final CompletableFuture<T> done;

    HeldWork(PendingAttempt<H> pending, Function<? super H, ? extends CompletionStage<T>> work, Workers workers) {
        this.pending = pending;
        this.work = work;
        this.workers = workers;
        this.taken = new PropagatingFuture<>(pending::giveUp);
        this.done = new PropagatingFuture<>(() -> taken.cancel(false));
    }

    /** The result of the work, or the failure of the attempt. */
    CompletableFuture<T> done() {
        return done;
    }

    /**
     * Submits the work, always to the executor: the hold may already be available, and the work must not run on the
     * caller's thread.
     */
    void granted(H hold) {
        if (isWithdrawn()) {
            pending.giveUp();
            return;
        }
        // Without a thread, the work does not run: release the hold.
        workers.execute(() -> beginOrGiveBack(hold), refused -> neverRan(hold, refused));
    }

    private boolean isWithdrawn() {
        return taken.isDone() || done.isDone();
    }

    private void beginOrGiveBack(H hold) {
        try {
            begin(hold);
        } catch (RuntimeException | Error e) {
            // Nothing else would complete the result, or release the hold.
            neverRan(hold, e);
        }
    }

    /** Runs the work if the hold is valid: it may have been lost while the work waited for its thread. */
    private void begin(H hold) {
        if (!isWithdrawn() && !hold.isValid()) {
            // If the machine has slept, a renewal has to confirm the hold first.
            Futures.ask(() -> hold.ensureValidForAsync(Duration.ZERO).toCompletableFuture())
                    .whenComplete((valid, error) -> {
                        if (error == null) {
                            granted(hold);
                        } else {
                            neverRan(hold, error);
                        }
                    });
        } else if (!isWithdrawn() && taken.complete(hold)) {
            run(hold);
        } else {
            pending.giveUp();
        }
    }

    private void neverRan(H hold, Throwable reason) {
        UnseenHold.giveBack(hold)
                .whenComplete((outcome, ignored) -> done.completeExceptionally(Futures.unwrapped(reason)));
    }

    private void run(H hold) {
        CompletionStage<T> stage;
        try {
            stage = Objects.requireNonNull(work.apply(hold), "the work given to holdWhile returned null");
        } catch (Throwable e) {
            stage = CompletableFuture.failedFuture(e);
        }
        try {
            stage.whenComplete((value, failure) -> giveBack(hold, value, failure));
        } catch (Throwable e) {
            // If the stage of the work rejects a callback, the work has failed.
            giveBack(hold, null, e);
        }
    }

    /** Releases the hold and completes the future, even if the release throws. */
    private void giveBack(H hold, @Nullable T value, @Nullable Throwable failure) {
        Futures.ask(hold::releaseAsync).whenComplete((outcome, ignored) -> {
            Throwable told = told(loss(hold, outcome), failure == null ? null : Futures.unwrapped(failure));
            if (told != null) {
                done.completeExceptionally(told);
            } else {
                done.complete(value);
            }
        });
    }

    /** The loss that the release has found, or null: the work may have ended without noticing it. */
    private static @Nullable LeaseLostException loss(Hold hold, @Nullable ReleaseOutcome outcome) {
        return outcome == ReleaseOutcome.ALREADY_LOST && hold instanceof UnseenHold known
                ? known.lossAtRelease()
                : null;
    }

    /** The loss, with the failure of the work attached unless that reports the loss itself, or else the failure. */
    private static @Nullable Throwable told(@Nullable LeaseLostException lost, @Nullable Throwable failure) {
        if (lost == null
                || (failure instanceof LeaseLostException known
                        && known.lockName().equals(lost.lockName()))) {
            return failure;
        }
        if (failure != null) {
            lost.addSuppressed(failure);
        }
        return lost;
    }
}
