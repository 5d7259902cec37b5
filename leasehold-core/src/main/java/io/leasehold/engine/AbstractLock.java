package io.leasehold.engine;

import io.leasehold.Acquirable;
import io.leasehold.Attempt;
import io.leasehold.Durations;
import io.leasehold.Hold;
import io.leasehold.LockOptions;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The acquiring methods of all kinds of lock. Each method starts one {@link PendingAttempt}, and blocks for its result
 * or delivers it asynchronously.
 *
 * <p>Stateless; safe for use by any thread.
 */
abstract class AbstractLock<H extends Hold> implements Acquirable<H> {

    private static final long FOR_EVER = Long.MAX_VALUE;

    /** Starts attempts, blocks threads and delivers results. */
    final Attempts attempts;

    final WaitSettings settings;
    private final LockRuntime runtime;

    AbstractLock(WaitSettings settings, Attempts attempts) {
        this.settings = settings;
        this.attempts = attempts;
        this.runtime = attempts.context().runtime();
    }

    /** The description of the lock, for messages. */
    abstract String what();

    /** Starts an attempt. */
    abstract PendingAttempt<H> enter(long maxWaitNanos);

    /** The options of every attempt. */
    public final LockOptions options() {
        return settings.options();
    }

    /** Returns the settings with other options. */
    final WaitSettings changed(UnaryOperator<LockOptions> change) {
        return attempts.settings(Objects.requireNonNull(change.apply(options()), "options"));
    }

    /** Refuses to wait without limit for a lease that the current thread itself holds. */
    abstract void refuseSelfWait();

    @Override
    public final H acquire() throws InterruptedException {
        refuseSelfWait();
        return await(FOR_EVER).orElseThrow();
    }

    @Override
    public final @Nullable H tryAcquire(Duration maxWait) throws InterruptedException {
        return attempt(maxWait).orElseNull();
    }

    @Override
    public final Attempt<H> attempt(Duration maxWait) throws InterruptedException {
        return await(patience(maxWait));
    }

    private Attempt<H> await(long maxWaitNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before " + what() + " was requested");
        }
        PendingAttempt<H> pending = enter(maxWaitNanos);
        try {
            runtime.await(pending.result());
        } catch (InterruptedException e) {
            awaitUndo(pending.giveUp());
            throw e;
        }
        return recordOpener(Futures.result(pending.result()));
    }

    /**
     * Waits for the undo for at most one node timeout. A further interrupt ends the wait; it is kept for the caller, in
     * addition to the first one.
     */
    private void awaitUndo(CompletableFuture<?> undone) {
        if (undone.isDone()) {
            return;
        }
        CompletableFuture<Void> late = new CompletableFuture<>();
        long patienceNanos = options().nodeTimeout().toNanos();
        LockRuntime.Timer limit = runtime.schedule(patienceNanos, () -> late.complete(null));
        try {
            // Once the client is closed, no timer runs, and the answer may never arrive.
            runtime.await(CompletableFuture.anyOf(undone, late, attempts.closed()));
        } catch (InterruptedException again) {
            Thread.currentThread().interrupt();
        } finally {
            limit.cancel();
            // Completed, so that the other two futures drop their reference to this wait.
            late.complete(null);
        }
    }

    /** Waits without limit; an interrupt is kept for later. */
    H acquireUninterruptibly() {
        refuseSelfWait();
        return recordOpener(Futures.join(runtime, enter(FOR_EVER).result())).orElseThrow();
    }

    /** Makes one round trip; an interrupt is kept for later. */
    @Nullable
    H tryAcquireUninterruptibly() {
        return recordOpener(Futures.join(runtime, enter(0).result())).orElseNull();
    }

    /** Records the thread that waited for a hold: it must not wait for the same hold again without limit. */
    private Attempt<H> recordOpener(Attempt<H> attempt) {
        if (attempt.orElseNull() instanceof UnseenHold hold) {
            hold.openedBy(Thread.currentThread());
        }
        return attempt;
    }

    @Override
    public final CompletableFuture<H> acquireAsync() {
        return handOver(FOR_EVER, Attempt::orElseThrow);
    }

    @Override
    public final CompletableFuture<Attempt<H>> attemptAsync(Duration maxWait) {
        return handOver(patience(maxWait), attempt -> attempt);
    }

    /** Like {@link #attemptAsync}, with the hold itself. */
    final CompletableFuture<H> acquireAsync(Duration maxWait) {
        return handOver(patience(maxWait), Attempt::orElseThrow);
    }

    /**
     * Delivers the result in the requested form on a callback thread. If the future is already completed, the hold is
     * released.
     */
    private <T> CompletableFuture<T> handOver(long maxWaitNanos, Function<Attempt<H>, T> form) {
        PendingAttempt<H> pending = enter(maxWaitNanos);
        CompletableFuture<T> handed = new PropagatingFuture<>(pending::giveUp);
        pending.result()
                .thenApply(form)
                .whenComplete((value, error) -> Futures.execute(runtime, () -> {
                    if (error != null) {
                        handed.completeExceptionally(Futures.unwrapped(error));
                    } else if (!handed.complete(value)) {
                        pending.giveUp();
                    }
                }));
        return handed;
    }

    @Override
    public final <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super H, ? extends CompletionStage<T>> work) {
        Objects.requireNonNull(work, "work");
        PendingAttempt<H> pending = enter(patience(maxWait));
        HeldWork<H, T> held = new HeldWork<>(pending, work, attempts.workers());
        pending.result().thenApply(Attempt::orElseThrow).whenComplete((hold, error) -> {
            if (error != null) {
                Futures.execute(runtime, () -> held.done().completeExceptionally(Futures.unwrapped(error)));
            } else {
                held.granted(hold);
            }
        });
        return held.done();
    }

    private long patience(Duration maxWait) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait for " + what() + " is " + Durations.text(maxWait)
                    + "; it must not be negative (zero: one round trip)");
        }
        return Timings.saturatedNanos(maxWait);
    }
}
