package io.leasehold.fencing;

import java.util.Objects;

/**
 * The two tokens by which a resource decides: the largest one seen, and that of the newest writer.
 *
 * <p><b>Rule.</b> A writer with token {@code t} is admitted if {@code t ≥ any}; then both are {@code t}. A reader with
 * token {@code t} is admitted if {@code t ≥ writer}; then {@code any} is at least {@code t}.
 *
 * <p><b>Guarantee.</b> Two admitted uses of which at least one is a writer's come in the order of their tokens; uses of
 * two readers come in any order. So readers never refuse each other, a late writer is refused after a newer read, and a
 * late reader is refused after a newer write. The resource must keep the pair and do what the holder asks in one step,
 * and its reads must return the newest write.
 *
 * @param any the largest token seen; 0 if none
 * @param writer the largest token of a writer; 0 if none, never larger than {@code any}
 */
public record TokenPair(long any, long writer) {

    /** The pair of a resource that no holder has used. */
    public static final TokenPair NONE = new TokenPair(0, 0);

    /** Refuses numbers that are no pair. */
    public TokenPair {
        if (writer < 0 || any < writer || any > FencingToken.LARGEST) {
            throw new IllegalArgumentException(
                    "any " + any + ", writer " + writer + ": they must be 0 <= writer <= any < 2^53");
        }
    }

    /** Returns the pair of a resource that knows only the largest token: the holder of that token may be a writer. */
    public static TokenPair of(long any) {
        return new TokenPair(any, any);
    }

    /** The smallest token that is admitted. */
    public long floor(Access access) {
        return Objects.requireNonNull(access, "access") == Access.READ ? writer : any;
    }

    /**
     * Decides about a token.
     *
     * @param resource the resource, for the answer
     * @throws IllegalArgumentException if the token is not one that a lease can have
     */
    public Admission decide(String resource, long token, Access access) {
        Objects.requireNonNull(resource, "resource");
        FencingToken.require(token);
        long floor = floor(access);
        return token < floor ? new Admission.Rejected(resource, token, floor) : new Admission.Admitted(resource, token);
    }

    /** Returns the pair that the resource keeps from now on; after a rejection that is this pair. */
    public TokenPair after(long token, Access access) {
        FencingToken.require(token);
        if (token < floor(access)) {
            return this;
        }
        long newest = Math.max(any, token);
        long newestWriter = access == Access.READ ? writer : newest;
        return newest == any && newestWriter == writer ? this : new TokenPair(newest, newestWriter);
    }
}
