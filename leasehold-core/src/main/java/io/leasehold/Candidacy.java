package io.leasehold;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A candidate's part in an {@link Election}, from {@link Election#stand} until it is closed.
 *
 * <p>Safe for use by any thread. It lives as long as its client, also if no reference to it is kept.
 */
public interface Candidacy extends AutoCloseable {

    /** The election. */
    LockName election();

    /** The term that it leads now; empty while it waits or pauses, and from the moment its term has ended. */
    Optional<Term> term();

    /**
     * Ends the current term and waits until the store has answered that it was given back. The term is invalid at once, and its end is told;
     * the lock is given back when the callback has returned, so that the next leader does not begin beside it, but at the latest
     * after the validity that the term had left. Then it stands again, behind the others.
     *
     * <p>Called on the thread that is in the callback, it gives the lock back at once; stages and {@link Term#onEnd} use
     * {@link #resignAsync}, since they would wait for themselves. It may be repeated after {@link ReleaseOutcome#UNCONFIRMED}: then
     * the store is asked whether the term is still there. Does not react to interruption.
     *
     * @return {@link ReleaseOutcome#ALREADY_LOST} also if it leads no term; {@link ReleaseOutcome#KEPT} with {@link LockOptions#atLeast}
     */
    ReleaseOutcome resign();

    /** As {@link #resign}, without waiting. */
    CompletableFuture<ReleaseOutcome> resignAsync();

    /**
     * Ends the candidacy: as {@link #resign} if it leads, and it stands no more. Waits until the callback has returned and the store has
     * answered, for at most the validity that the term had left and the time limit of the store; called from inside the callback it returns at once.
     * Does not react to interruption. Repeated calls wait again.
     */
    @Override
    void close();

    /**
     * As {@link #close()}, without waiting.
     *
     * @return completes as {@link #whenEnded()}, but normally
     */
    CompletableFuture<Void> closeAsync();

    /**
     * Completes, on a callback thread, when the candidacy has ended: normally if it or its client was closed, exceptionally if
     * the store will never accept it ({@link UnsafeStoreException}).
     */
    CompletionStage<Void> whenEnded();
}
