package io.leasehold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The acquiring methods that all kinds of lock share.
 *
 * <p><b>A Duration given here is always {@code maxWait}</b>, the caller's patience, never a ttl.
 * Zero means one round trip; negative values are refused with {@link IllegalArgumentException}; huge
 * values mean "without limit". Nothing here is reentrant.
 *
 * <p><b>Errors.</b> {@link LockStoreException} if the store cannot serve. A permanent error is thrown at once. A
 * transient one is retried until {@code maxWait}, for at most one ttl in a row, and then thrown.
 * {@link AmbiguousAcquireException} if the outcome of a request is unknown; the request has been compensated.
 * {@link IllegalStateException} if the client is closed.
 *
 * <p><b>Interruption.</b> Waiting methods throw {@link InterruptedException} and leave nothing behind: they give up the
 * place in a queue, and release a grant that was on its way. They wait for the store to confirm that, for at most one
 * {@linkplain LockOptions#nodeTimeout node timeout}; a second interrupt ends the wait and leaves the thread
 * interrupted. In that case, or if the store takes longer, another client may find the lock taken until the undo is
 * complete.
 *
 * <p><b>Asynchronous forms</b> return futures that complete on the client's callback threads. Cancelling one, or a
 * stage derived from it, withdraws the attempt; a grant that arrives after its future has completed is released. Pass
 * the patience as an argument ({@code attemptAsync(maxWait)}) instead of limiting the future ({@code orTimeout}), and
 * prefer {@link #holdWhile}, which cannot leak.
 *
 * @param <H> the kind of hold
 */
public interface Acquirable<H extends Hold> {

    /**
     * Waits without limit until the lock is held.
     *
     * @throws IllegalStateException also if the calling thread holds this lock by a renewed lease that it opened and
     *     that no other thread has used: it would wait for itself. If the caller hands a lease to another thread, and
     *     waits for its release before that thread has begun, use {@link #attempt}
     */
    H acquire() throws InterruptedException;

    /**
     * Waits at most {@code maxWait}.
     *
     * @return the hold, or null if the lock stayed busy
     */
    @Nullable
    H tryAcquire(Duration maxWait) throws InterruptedException;

    /** Waits at most {@code maxWait}, and reports the holder if the lock stayed busy. */
    Attempt<H> attempt(Duration maxWait) throws InterruptedException;

    /** Waits without limit, without blocking a thread. */
    CompletableFuture<H> acquireAsync();

    /** Waits at most {@code maxWait}, without blocking a thread. */
    CompletableFuture<Attempt<H>> attemptAsync(Duration maxWait);

    /**
     * Acquires the lock, runs {@code work} on the client's {@linkplain Leasehold.Builder#workExecutor work executor},
     * and releases the lock when the returned stage completes, normally or exceptionally. The work may block: neither
     * callbacks nor other work wait for it.
     *
     * <p>Completes exceptionally with {@link LockBusyException} if the lock stayed busy for {@code maxWait}, and with
     * {@link LeaseLostException} if the hold was lost before its release, even if the work ended without noticing it; an
     * exception of the work is then suppressed in it. If the hold is lost before the work begins, the work does not run;
     * neither does it, with {@link LeaseAtRiskException}, if a suspension of the machine has left the hold unconfirmed and no
     * renewal confirms it in time.
     * Cancelling the future releases the lock if the work has not begun; later, the work keeps it until its stage completes.
     */
    <T> CompletableFuture<T> holdWhile(Duration maxWait, Function<? super H, ? extends CompletionStage<T>> work);
}
