package io.leasehold;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * The time during which a candidate leads.
 *
 * <p>Queries are local and never block, except that {@link #ensureValidFor} may wait for a renewal. Callbacks run on the client's callback threads. Safe for use by any thread.
 */
public interface Term {

    /** The election. */
    LockName election();

    /**
     * The number of the term: larger than that of every earlier term, as far as {@link Guarantees#fencing()} promises.
     * Pass it to every resource that the leader changes.
     */
    long fencingToken();

    /**
     * Whether the candidate may still rely on leading: false before another candidate can lead, and as soon as it has
     * resigned.
     */
    boolean isValid();

    /** The time for which the candidate may still rely on leading, never negative; zero once the term has ended. */
    Duration remainingValidity();

    /**
     * Checks, before a side effect, that at least {@code duration} of validity is left, and renews the term first if there is
     * less: see {@link Hold#ensureValidFor}.
     *
     * @throws LeaseLostException if the term was lost
     * @throws IllegalStateException if it was resigned
     * @throws LeaseAtRiskException if it is valid for less than {@code duration}, even after a renewal
     * @throws IllegalArgumentException as {@link Hold#ensureValidFor}
     */
    void ensureValidFor(Duration duration);

    /** Like {@link #ensureValidFor}, without waiting: see {@link Hold#ensureValidForAsync}. */
    CompletionStage<Void> ensureValidForAsync(Duration duration);

    /**
     * Calls back once when the term ends, with the reason; at once if it has already ended. Never called if the leader
     * callback has returned on its own.
     */
    void onEnd(Consumer<? super End> callback);

    /** Calls back each time when the term is at risk: see {@link Hold#onAtRisk}. */
    void onAtRisk(Consumer<? super Duration> callback);

    /** Why a term ended while its callback ran. The list is complete for this version; a later one may add values. */
    sealed interface End {
        /**
         * It was lost.
         *
         * @param cause the reason
         */
        record Lost(LossCause cause) implements End {}

        /** The candidacy has resigned or was closed. */
        record Resigned() implements End {}
    }
}
