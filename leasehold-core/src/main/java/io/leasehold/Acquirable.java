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
 * <p><b>Errors.</b> {@link LockStoreException} if the store cannot serve: permanent errors at once,
 * transient ones after they were retried until {@code maxWait}, and for at most one ttl
 * in a row. {@link AmbiguousAcquireException} if the outcome of a request is unknown; it has been
 * compensated. {@link IllegalStateException} if the client is closed.
 *
 * <p><b>Interruption.</b> Waiting methods throw {@link InterruptedException} and leave nothing behind: a place in a queue is
 * given up, and a grant that was on its way is given back. They wait for the store to confirm that, for at most one
 * {@linkplain LockOptions#nodeTimeout node timeout}; a second interrupt ends the wait and leaves the thread interrupted. Only
 * in that case, or if the store takes longer, may another client find the lock taken until the undo has been carried out.
 *
 * <p><b>Asynchronous forms</b> return futures that complete on the client's callback threads.
 * Cancelling one, or a stage derived from it, withdraws the attempt; a grant that finds its future
 * already completed is given back. Put the patience inside ({@code attemptAsync(maxWait)}) and not
 * outside ({@code orTimeout}), and prefer {@link #holdWhile}, which cannot leak.
 *
 * @param <H> the kind of hold
 */
public interface Acquirable<H extends Hold> {

    /**
     * Waits without limit until the lock is held.
     *
     * @throws IllegalStateException also if the calling thread holds this lock by a renewed lease that it opened and that no
     *     other thread has used: it would wait for itself. A caller that hands a lease to another thread and waits for its
     *     release before that thread has begun uses {@link #attempt}
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
     * Acquires, runs {@code work} on the client's {@linkplain Leasehold.Builder#workExecutor work executor}, and releases
     * when the stage that it returned has ended, however it ended. The work may block: neither callbacks nor other work wait
     * for it. Completes exceptionally with {@link LockBusyException} if the lock stayed busy for {@code maxWait}.
     */
    <T> CompletableFuture<T> holdWhile(Duration maxWait, Function<? super H, ? extends CompletionStage<T>> work);
}
