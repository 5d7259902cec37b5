package io.leasehold;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The time during which a candidate leads.
 *
 * <p>Queries are local and never block. Callbacks run on the client's callback threads. Safe for use by any thread.
 */
public interface Term {

    /** The election. */
    LockName election();

    /**
     * The number of the term: larger than that of every earlier one (as far as {@link Guarantees#fencing()} promises). Pass it to what the
     * leader changes.
     */
    long fencingToken();

    /** Whether it may still rely on leading: false before another candidate can, and from the moment it has resigned. */
    boolean isValid();

    /** How long it may still rely on leading, never negative; zero once it has ended. */
    Duration remainingValidity();

    /**
     * Checks, before a side effect, that at least {@code duration} of validity is left.
     *
     * @throws LeaseLostException if the term was lost
     * @throws IllegalStateException if it was resigned
     * @throws LeaseAtRiskException if it is valid, but for less than {@code duration}
     * @throws IllegalArgumentException as {@link Hold#ensureValidFor}
     */
    void ensureValidFor(Duration duration);

    /** Calls back once when the term ends, with the reason; at once if it has ended. Never after its callback has returned by itself. */
    void onEnd(Consumer<? super End> callback);

    /** Calls back each time the term is at risk: see {@link Hold#onAtRisk}. */
    void onAtRisk(Consumer<? super Duration> callback);

    /** Why a term ended while its callback ran. The list is closed; handle unknown values all the same. */
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
