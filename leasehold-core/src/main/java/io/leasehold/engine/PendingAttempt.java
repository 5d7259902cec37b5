package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import java.util.concurrent.CompletableFuture;

/**
 * An attempt that is under way.
 *
 * @param <H> the kind of hold
 */
interface PendingAttempt<H extends Hold> {

    /**
     * Completes, on any thread, with the attempt's outcome; exceptionally if the store failed or the caller gave up.
     */
    CompletableFuture<Attempt<H>> result();

    /**
     * Withdraws the attempt; an earlier or later grant is given back.
     *
     * @return completes, normally, once the store has confirmed that nothing of it is left, or is no longer asked
     */
    CompletableFuture<?> giveUp();

    /** How long an interrupted caller waits for that. */
    long undoPatienceNanos();

    /** The client closes: ends the attempt, which is told apart from a withdrawal. */
    void clientClosing();
}
