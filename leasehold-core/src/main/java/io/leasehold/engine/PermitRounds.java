package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Holder;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The decisions of an attempt on several permits, which takes them one after another, in rounds. Pure: answers and the
 * time come in, the next step goes out. Not thread-safe.
 *
 * <p>Invariants. A round waits only before its first permit, so nothing is held while the attempt waits. A round that
 * does not get all permits releases those that it has before anything else happens. A round begins only while patience
 * is left, except the first, and is then completed: the attempt outlasts its patience by at most one request for each
 * permit.
 */
final class PermitRounds {

    /** The next step. */
    sealed interface Next {}

    /** Request one more permit, with this patience; zero for one request. */
    record Take(long patienceNanos) implements Next {}

    /** All permits are held: hand them out. */
    record Keep() implements Next {}

    /**
     * Release all permits. Begin the next round when this time is over and nothing is held any longer, or end by {@link
     * #tooLate} if the patience is over before.
     */
    record Pause(long nanos) implements Next {}

    /** Release all permits, and end with this outcome. */
    sealed interface End extends Next {}

    /** Other holders have the permits. */
    record Busy(@Nullable Holder holder, List<NodeVote> votes) implements End {}

    /** The store failed. */
    record Failed(Throwable error) implements End {}

    private final int wanted;
    private final Timings timings;
    private final WaitPolicy policy;
    private final long maxWaitNanos;
    private final long startAtNanos;
    private int taken;
    private int rounds;
    private long holdsSinceNanos;
    private End soFar = new Busy(null, List.of());

    /**
     * Creates an attempt that begins now.
     *
     * @param wanted how many permits it needs
     * @param maxWaitNanos the caller's patience; {@link Long#MAX_VALUE} for no limit
     */
    PermitRounds(int wanted, Timings timings, WaitPolicy policy, long maxWaitNanos, long nowNanos) {
        this.wanted = wanted;
        this.timings = timings;
        this.policy = policy;
        this.maxWaitNanos = maxWaitNanos;
        this.startAtNanos = nowNanos;
    }

    /** Begins a round, with nothing held. */
    Next begin(long nowNanos) {
        taken = 0;
        return new Take(patienceLeftNanos(nowNanos));
    }

    /**
     * Processes a permit that was granted.
     *
     * @param leastLeftNanos the least validity of the permits that the round holds
     */
    Next taken(long leastLeftNanos, long random, long nowNanos) {
        if (taken == 0) {
            holdsSinceNanos = nowNanos;
        }
        taken++;
        if (taken < wanted) {
            return new Take(0);
        }
        // The first permit may have ended while the others were taken.
        boolean isWorthKeeping = leastLeftNanos >= Math.max(1, timings.minimumValidityNanos());
        return isWorthKeeping ? new Keep() : again(new Busy(null, List.of()), random, nowNanos);
    }

    /** Processes the answer that other holders have the permits. */
    Next busy(@Nullable Holder holder, List<NodeVote> votes, long random, long nowNanos) {
        return again(new Busy(holder, votes), random, nowNanos);
    }

    /** Processes a failure. The request for the first permit was repeated for as long as the patience allows. */
    Next failed(Throwable error, long random, long nowNanos) {
        boolean isTransient = error instanceof StoreUnavailableException || error instanceof AmbiguousAcquireException;
        return isTransient && taken > 0 ? again(new Failed(error), random, nowNanos) : new Failed(error);
    }

    /** Returns the end of an attempt whose patience is over while it waits. */
    End tooLate() {
        return soFar;
    }

    long patienceLeftNanos(long nowNanos) {
        return maxWaitNanos > Long.MAX_VALUE / 2 ? maxWaitNanos : Math.max(0, maxWaitNanos - (nowNanos - startAtNanos));
    }

    /**
     * Ends the round. Rounds that met each other must not meet again and again, whatever the policy: so the pause is as
     * long as the round held permits, at least, and then up to doubled.
     */
    private Next again(End end, long random, long nowNanos) {
        soFar = end;
        long leftNanos = patienceLeftNanos(nowNanos);
        if (leftNanos <= 0) {
            return end;
        }
        long heldNanos = taken == 0 ? 0 : nowNanos - holdsSinceNanos;
        long leastNanos = Math.min(Long.MAX_VALUE / 4, Math.max(heldNanos, policy.retryNanos(rounds, random)));
        rounds++;
        return new Pause(Math.min(leftNanos, leastNanos + WaitPolicy.scaled(leastNanos, random)));
    }
}
