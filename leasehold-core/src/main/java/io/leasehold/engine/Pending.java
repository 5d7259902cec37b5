package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import java.util.concurrent.CompletableFuture;

/**
 * An attempt on its way.
 *
 * @param <H> the kind of hold
 */
interface Pending<H extends Hold> {

    /**
     * Completes, on whatever thread, with the attempt's outcome; exceptionally if the store failed or the caller gave
     * up.
     */
    CompletableFuture<Attempt<H>> result();

    /**
     * The caller wants no more; what was or will be granted is given back.
     *
     * @return completes, normally, once the store has answered that nothing of it is left, or will not be asked any more
     */
    CompletableFuture<?> giveUp();

    /** How long a caller that was interrupted waits for that. */
    long undoPatienceNanos();
}
