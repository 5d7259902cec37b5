package io.leasehold.fencing;

/**
 * The rule for valid fencing tokens: a token is positive, and exact as a double, since scripts and JSON calculate with
 * doubles.
 */
public final class FencingToken {

    /** The largest token: 2<sup>53</sup> − 1. */
    public static final long LARGEST = (1L << 53) - 1;

    private FencingToken() {}

    /**
     * Requires a number that a lease can have.
     *
     * @return the token
     * @throws IllegalArgumentException if it is not in 1 … 2<sup>53</sup> − 1
     */
    public static long require(long token) {
        if (token < 1 || token > LARGEST) {
            throw new IllegalArgumentException(
                    "fencing token " + token + ": it must be from 1 to 2^53 - 1, as Lease.fencingToken() gives it");
        }
        return token;
    }
}
