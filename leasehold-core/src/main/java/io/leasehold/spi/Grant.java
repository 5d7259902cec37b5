package io.leasehold.spi;

import java.util.Objects;

/**
 * The bare fact that a store granted a request.
 *
 * @param owner what proves it to the store
 * @param tokens the fencing tokens it may hand out
 * @param sentAtNanos from when the ttl may be counted: never after the request was really sent
 * @param incarnation the life of the store's memory that granted it
 */
public record Grant(OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation) {

    /** Refuses nulls. */
    public Grant {
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(tokens, "tokens");
        Objects.requireNonNull(incarnation, "incarnation");
    }
}
