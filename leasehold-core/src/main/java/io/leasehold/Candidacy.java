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
     * Ends the candidacy: resigns as {@link #resign} does if the candidate leads, and does not stand again. Waits until
     * the callback has returned and the store has answered, for at most the term's remaining validity plus the time
     * limit of the store. From inside the callback it returns at once. Does not react to interruption. Repeated calls
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
