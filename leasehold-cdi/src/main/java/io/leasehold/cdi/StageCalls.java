package io.leasehold.cdi;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockBusyException;
import io.leasehold.spi.method.LeaseScope;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Locked bodies that have ended with the stage that they return: they begin on the client's work executor, and no thread waits. */
final class StageCalls {

    private StageCalls() {}

    /** Which of two comes first. */
    private enum Turn {
        OPEN,
        BODY,
        END
    }

    static CompletableFuture<Object> run(LockCall call) {
        LeaseScope.refuseHeld(LeaseScope.current(), call.asked());
        call.refuseFailingOuter(call.locks().transactions().isActive());
        AtomicReference<Turn> turn = new AtomicReference<>(Turn.OPEN);
        CompletableFuture<Object> held = call.lock()
                .holdWhile(
                        call.locks().maxWait(),
                        hold -> turn.compareAndSet(Turn.OPEN, Turn.BODY)
                                ? body(call, hold)
                                : CompletableFuture.completedFuture(null));
        CompletableFuture<Object> result = held.handle((value, error) -> {
                    Throwable cause = cause(error);
                    return cause instanceof LockBusyException busy && turn.get() != Turn.BODY
                            ? busy(call, busy)
                            : cause != null
                                    ? CompletableFuture.<Object>failedFuture(cause)
                                    : CompletableFuture.completedFuture(value);
                })
                .thenCompose(stage -> stage);
        // Before the body has begun this is the caller, who cancels it or waits no longer.
        result.whenComplete((value, error) -> {
            if (turn.compareAndSet(Turn.OPEN, Turn.END)) {
                held.cancel(false);
            }
        });
        return result;
    }

    private static CompletionStage<Object> body(LockCall call, Hold hold) {
        LeaseScope scope = call.scope(hold, null);
        CompletionStage<Object> running;
        LeaseScope before = scope.enter();
        try {
            running = stage(call.body(hold));
        } catch (Throwable e) {
            running = CompletableFuture.failedFuture(e);
        } finally {
            LeaseScope.backTo(before);
        }
        if (call.locks().method().onLoss() == OnLoss.INTERRUPT) {
            CompletionStage<Object> cancelled = running;
            hold.onLost(cause -> cancelled.toCompletableFuture().cancel(true));
        }
        CompletableFuture<Object> end = new CompletableFuture<>();
        running.whenComplete((value, error) -> {
            Throwable told = LeaseScope.outcome(scope.loss(), cause(error));
            if (told == null) {
                end.complete(value);
            } else {
                end.completeExceptionally(told);
            }
        });
        return end;
    }

    private static CompletionStage<Object> busy(LockCall call, LockBusyException e) {
        try {
            return stage(call.whenBusy(new Attempt.Busy<>(e.lockName(), e.waited(), e.holder(), e.votes())));
        } catch (Throwable thrown) {
            return CompletableFuture.failedFuture(thrown);
        }
    }

    @SuppressWarnings("unchecked") // its type is only known to who called the method
    private static CompletionStage<Object> stage(@Nullable Object returned) {
        return returned == null ? CompletableFuture.completedFuture(null) : (CompletionStage<Object>) returned;
    }

    private static @Nullable Throwable cause(@Nullable Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }
}
