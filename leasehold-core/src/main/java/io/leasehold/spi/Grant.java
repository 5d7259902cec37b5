package io.leasehold.spi;

import java.util.Objects;

/**
 * A request that a store has granted.
 *
 * @param owner the proof of ownership
 * @param tokens the fencing tokens that it may hand out
 * @param sentAtNanos the start of the ttl: never after the request was actually sent
 * @param incarnation the incarnation of the store that granted it
 * @param slot the slot of a permit; 0 for a lock
 */
public record Grant(OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation, int slot) {

    /** Creates the grant of a lock. */
    public Grant(OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation) {
        this(owner, tokens, sentAtNanos, incarnation, 0);
    }

    /** Refuses nulls. */
    public Grant {
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(tokens, "tokens");
        Objects.requireNonNull(incarnation, "incarnation");
    }
}
