package io.leasehold.spi;

/**
 * The fencing tokens that one grant may hand out, from the first to the last.
 *
 * @param first the token of the grant's first lease, at least 1
 * @param last the largest token that the grant may ever hand out, below 2<sup>53</sup>
 */
public record TokenRange(long first, long last) {

    /** The exclusive bound of tokens: larger numbers are not exact in Lua and JSON. */
    public static final long LIMIT = 1L << 53;

    /** Refuses ranges that are empty or out of bounds. */
    public TokenRange {
        if (first < 1 || last < first || last >= LIMIT) {
            throw new IllegalArgumentException("token range " + first + ".." + last + " is not within 1..2^53-1");
        }
    }

    /** The range of {@code count} tokens that starts at {@code first}. */
    public static TokenRange of(long first, int count) {
        return new TokenRange(first, first + count - 1);
    }
}
