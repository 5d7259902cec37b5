package io.leasehold;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * One candidate's participation in an {@link Election}, from {@link Election#stand} until it is closed.
 *
 * <p>Safe for use by any thread. It lives as long as its client, even if the application keeps no reference to it.
 */
public interface Candidacy extends AutoCloseable {

    /** The election. */
    LockName election();

    /** The current term; empty while the candidate waits or pauses, and as soon as its term has ended. */
    Optional<Term> term();

    /**
     * Ends the current term and waits until the store has confirmed the release. The term becomes invalid at once, and
     * its callbacks are notified. The lock is released when the leader callback has returned, so that the next leader
     * does not overlap with it, but at the latest when the term's remaining validity has passed. The candidate then
     * stands again, behind the others.
     *
     * <p>On the thread that runs the leader callback, it releases the lock at once. Stages and {@link Term#onEnd} must
     * use {@link #resignAsync}, since they would wait for themselves. After {@link ReleaseOutcome#UNCONFIRMED} it may
     * be called again: it then asks the store whether it still has the term. Does not react to interruption.
     *
     * @return {@link ReleaseOutcome#ALREADY_LOST} also if the candidate does not lead; {@link ReleaseOutcome#KEPT} with
     *     {@link LockOptions#atLeast}
     */
    ReleaseOutcome resign();

    /** As {@link #resign}, without waiting. */
    CompletableFuture<ReleaseOutcome> resignAsync();

    /**
     * As {@link #resign}, but the named candidate comes before all others, once: before the release, the store puts it first in
     * the queue, and the others keep their order. If it does not wait at the store, or the store does not answer within the
     * time limit of a request, the next candidate in the queue leads. If the named candidate is dead, the next one leads
     * after one claim. If several candidates have this id, the first of them in the queue is meant. The first call of a term
     * decides: the lock is not handed over to another that is named later, nor to one that is named after a {@code resign()}
     * has begun the release.
     *
     * @param candidate the {@linkplain LockClient#holderId() id} of the candidate's client: see {@link Election#candidates}
     * @throws IllegalArgumentException if it is the id of this client; the candidate then still leads
     * @throws UnsafeStoreException if a leader cannot {@linkplain LockClient#namesSuccessors() name its successor} at this
     *     store; the candidate then still leads
     */
    HandOverOutcome handOver(String candidate);

    /** As {@link #handOver}, without waiting; completes exceptionally in the same cases. */
    CompletableFuture<HandOverOutcome> handOverAsync(String candidate);

    /**
     * Ends the candidacy: resigns as {@link #resign} does if the candidate leads, and does not stand again. Waits until
     * the callback has returned and the store has answered, for at most the term's remaining validity plus the time
     * limit of the store; for that limit alone if the candidate does not lead. From inside the callback it returns at once. Does not react to interruption. Repeated calls
     * wait again.
     */
    @Override
    void close();

    /**
     * As {@link #close()}, without waiting.
     *
     * @return a future that completes when {@link #whenEnded()} does, but always normally
     */
    CompletableFuture<Void> closeAsync();

    /**
     * A stage that completes on a callback thread when the candidacy has ended: normally if it or its client was
     * closed, exceptionally if the store can never accept it ({@link UnsafeStoreException}).
     */
    CompletionStage<Void> whenEnded();
}
