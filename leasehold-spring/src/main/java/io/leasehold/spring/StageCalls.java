package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LockBusyException;
import io.leasehold.spi.method.LeaseScope;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Runs locked bodies that end when their returned stage completes: they begin on the client's work executor, and no
 * thread waits.
 */
final class StageCalls {

    private StageCalls() {}

    static CompletableFuture<Object> run(LockCall call) {
        LeaseScope.refuseHeld(InheritedScope.current(), call.asked());
        if (ThreadTransactions.isActive() && call.outerTransaction() == OuterTransaction.FAIL) {
            throw call.refusedInTransaction();
        }
        AtomicBoolean began = new AtomicBoolean();
        CallerContext.Captured caller = CallerContext.captured();
        WaitObservation wait = WaitObservation.start(call.observations(), call.names(), null);
        CompletableFuture<Object> held = wait.asking(() -> call.lock().holdWhile(call.maxWait(), hold -> {
            began.set(true);
            wait.ended(new Attempt.Acquired<>(hold));
            return body(call, hold, caller);
        }));
        CompletableFuture<Object> returned = held.handle((value, error) -> {
                    Throwable cause = cause(error);
                    if (!began.get() && cause != null) {
                        waited(wait, cause);
                    }
                    return cause instanceof LockBusyException busy && !began.get()
                            ? busy(call, busy, caller)
                            : cause != null
                                    ? CompletableFuture.<Object>failedFuture(cause)
                                    : CompletableFuture.completedFuture(value);
                })
                .thenCompose(stage -> stage);
        // A caller that cancels it, or lets it time out, no longer wants the lock; a body that has begun keeps the lock
        // until its own end.
        returned.whenComplete((value, error) -> held.cancel(false));
        return returned;
    }

    /** Ends the observation of an unsuccessful wait. */
    static void waited(WaitObservation wait, Throwable inVain) {
        if (inVain instanceof LockBusyException) {
            wait.busy();
        } else {
            wait.failed(inVain);
        }
    }

    private static CompletionStage<Object> body(LockCall call, Hold hold, CallerContext.Captured caller) {
        LeaseScope scope = call.scope(hold, null);
        CompletionStage<Object> running;
        LeaseScope before = scope.enter();
        try {
            running = stage(caller.run(() -> call.body().run(hold)));
        } catch (Throwable e) {
            running = CompletableFuture.failedFuture(e);
        } finally {
            LeaseScope.backTo(before);
        }
        if (call.onLoss() == OnLoss.INTERRUPT) {
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

    private static CompletionStage<Object> busy(LockCall call, LockBusyException e, CallerContext.Captured caller) {
        try {
            return stage(caller.run(() -> call.whenBusy().result(attempt(e))));
        } catch (Throwable thrown) {
            return CompletableFuture.failedFuture(thrown);
        }
    }

    static Attempt.Busy<Hold> attempt(LockBusyException busy) {
        return new Attempt.Busy<>(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
    }

    @SuppressWarnings("unchecked") // only the caller of the method knows its type
    private static CompletionStage<Object> stage(@Nullable Object returned) {
        return returned == null ? CompletableFuture.completedFuture(null) : (CompletionStage<Object>) returned;
    }

    static @Nullable Throwable cause(@Nullable Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }
}
