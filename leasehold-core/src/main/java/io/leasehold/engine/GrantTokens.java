package io.leasehold.engine;

import io.leasehold.Fairness;
import io.leasehold.LockOptions;
import io.leasehold.spi.TokenRange;
import org.jspecify.annotations.Nullable;

/**
 * The fencing tokens of one grant, for successive leases within the process. Each lease has its own token from the
 * range that the store granted, for at most {@value Timings#MAX_LEASES} leases and {@link Timings#HAND_OVER_NANOS}.
 * Pure.
 */
final class GrantTokens {

    private final long lastToken;
    private final long highestBallot;
    private final long passableUntilAtNanos;
    private final long minimumValidityNanos;
    private long nextToken;

    /**
     * Takes the range, and the highest ballot ever proposed under the owner token. A lease that nothing renews is never
     * passed on, nor is any lease in strict order.
     */
    GrantTokens(TokenRange granted, long highestBallot, LockOptions options, Timings timings, long grantedAtNanos) {
        boolean passable = timings.renewed() && options.fairness() == Fairness.BOUNDED_LOCAL_HAND_OVER;
        this.highestBallot = highestBallot;
        this.nextToken = granted.first();
        this.lastToken = Math.min(granted.last(), granted.first() + Timings.MAX_LEASES - 1);
        this.passableUntilAtNanos = grantedAtNanos + (passable ? Timings.HAND_OVER_NANOS : 0);
        this.minimumValidityNanos = Math.max(1, timings.minimumValidityNanos());
    }

    /**
     * Returns the tokens of a grant.
     *
     * @return null if the grant has one token, and no other was ever proposed: its only lease has that token
     */
    static @Nullable GrantTokens of(TokenRange range, long highestBallot, WaitSettings settings, long grantedAtNanos) {
        long highest = Math.max(highestBallot, range.last());
        return range.first() == highest
                ? null
                : new GrantTokens(range, highest, settings.options(), settings.timings(), grantedAtNanos);
    }

    /** Returns the highest ballot of a grant that may have one token only. */
    static long highestBallot(@Nullable GrantTokens tokens, long onlyToken) {
        return tokens == null ? onlyToken : tokens.highestBallot();
    }

    /** Returns the token of the next lease. No other lease has it, whether or not this lease finds a holder. */
    long draw() {
        return nextToken++;
    }

    /** Returns the highest token that a lease of the grant may have. */
    long last() {
        return lastToken;
    }

    /** Returns the highest ballot ever proposed under the owner token, perhaps by a request that may still arrive. */
    long highestBallot() {
        return highestBallot;
    }

    /** Whether the next holder in the process may receive the grant now, with this validity left. */
    boolean mayPassOn(long remainingNanos, long nowNanos) {
        return passableNanos(nowNanos) > 0 && remainingNanos >= minimumValidityNanos;
    }

    /**
     * Returns how long the grant may still be passed to the next attempt in the process; zero or less if not at all.
     */
    long passableNanos(long nowNanos) {
        return nextToken <= lastToken ? passableUntilAtNanos - nowNanos : 0;
    }
}
