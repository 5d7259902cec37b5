package io.leasehold;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * Something held for a limited time: it has a validity, an end and a release.
 *
 * <p><b>Guarantee.</b> {@link #isValid()} is false before the lock can have another holder, under
 * the conditions of the store's {@link Guarantees}. No query can foresee a pause of this process
 * <em>after</em> the query: only a {@linkplain Lease#fencingToken() fencing token}, checked by the
 * resource, covers that.
 *
 * <p><b>Threads.</b> Ownership lives in this object, not in a thread: any thread may use and release
 * it. Queries are local and never block, with one exception: {@link #ensureValidFor} may wait for a
 * renewal. Callbacks run on the client's callback threads, each as soon as it is due, even while
 * others block; never on a timer or network thread. Methods that wait for the store ({@link #renew}, {@link #release},
 * {@link #close}) do not react to interruption: they are bounded in time, and the interrupt flag is left unchanged.
 */
public interface Hold extends AutoCloseable {

    /**
     * How long the holder may still rely on this hold, never negative: one ttl from the sending of
     * the last successful request, less drift, less the time since. Zero once ended. A lease that begins from a store's message
     * has a few seconds, at least the {@linkplain LockOptions#minimumValidity() minimum}, until its first renewal is answered.
     */
    Duration remainingValidity();

    /** Whether there is any {@linkplain #remainingValidity() validity} left. */
    boolean isValid();

    /**
     * Checks, before a side effect, that at least {@code duration} of validity is left.
     *
     * <p>If there is, it returns at once. If there is less, a hold that renews itself is renewed now, and the calling thread waits
     * for the answer: for at most the store's time limit, which begins again if a renewal is in flight that turns out not to be
     * enough, and never beyond the end of the validity. Callers that wait at the same time share a renewal.
     *
     * <p>It never waits if the hold is not renewed, in a {@link LockListener}, or on an event-loop thread (a thread that Reactor
     * marks as non-blocking, or whose name contains "eventloop", as those of Netty and Vert.x): it then decides by the validity
     * that is left. There, use {@link #ensureValidForAsync}. An interrupt ends the wait: the flag stays set, the hold stays held,
     * and the validity that is left decides.
     *
     * @throws LeaseLostException if this hold has ended
     * @throws LeaseAtRiskException if it is valid for less than {@code duration}, even after the renewal; the message says
     *     what the renewal was answered
     * @throws IllegalArgumentException if even a hold that was just renewed could miss {@code duration}: it is
     *     above {@link LockOptions#longestCheckable()}
     * @throws IllegalStateException if it was released
     */
    void ensureValidFor(Duration duration);

    /**
     * Like {@link #ensureValidFor}, without waiting: for event loops. Completes exceptionally in the same cases; on a callback thread
     * if a renewal has to be waited for. Nothing that a caller does with the stage affects the renewal or other callers.
     */
    CompletionStage<Void> ensureValidForAsync(Duration duration);

    /**
     * Extends this hold now and waits for the answer.
     *
     * @throws LeaseLostException if this hold has ended, or the store answered that it has
     * @throws LockStoreException if the store could not confirm; the hold continues until its end
     * @throws IllegalStateException if it was released, or is no longer renewed (maxHold)
     */
    void renew();

    /** Like {@link #renew()}, without waiting; completes exceptionally in the same cases. */
    CompletableFuture<Void> renewAsync();

    /**
     * Releases the lock and waits for the answer, for at most the node's time limit. Repeated calls
     * return the first outcome.
     */
    ReleaseOutcome release();

    /** Like {@link #release()}, without waiting. Cancelling the future does not undo the release. */
    CompletableFuture<ReleaseOutcome> releaseAsync();

    /**
     * Like {@link #release()}, but never throws. If the hold had been lost and user code was never told (no exception, no
     * {@code onLost}, no {@code isValid() == false}), the loss is logged here, once, at ERROR. After a suspension,
     * {@code isValid()} may be false and then true again: that told of no later loss.
     */
    @Override
    void close();

    /** Completes, on a callback thread, with how this hold ended; never exceptionally. */
    CompletionStage<HoldEnd> whenEnded();

    /**
     * Calls back once if this hold is lost, with the cause; at once (on a callback thread) if it
     * already is; never after a release.
     */
    void onLost(Consumer<? super LossCause> callback);

    /**
     * Calls back each time the hold is at risk, with the validity that is left: a renewal is late, or the store has lost
     * contact with the session that keeps the hold; again only after a renewal has succeeded in between. A hold of several
     * locks or permits is renewed once each of them that was at risk is.
     */
    void onAtRisk(Consumer<? super Duration> callback);

    /**
     * Interrupts the calling thread if this hold is lost before it is released; other threads may request the same for
     * themselves. Each is interrupted once, even if it has called this repeatedly. No interrupt is delivered once release has been
     * called.
     */
    void interruptOnLoss();
}
