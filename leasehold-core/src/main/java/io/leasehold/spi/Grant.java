package io.leasehold.spi;

import java.util.List;
import java.util.Objects;

/**
 * A request that a store has granted.
 *
 * @param owner the proof of ownership
 * @param tokens the fencing tokens that it may hand out
 * @param sentAtNanos the start of the ttl: never after the request was actually sent
 * @param incarnation the incarnation of the store that granted it
 * @param slots the slots of permits, in the order of their tokens; empty for a lock
 */
public record Grant(
        OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation, List<Integer> slots) {

    /** Creates the grant of a lock. */
    public Grant(OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation) {
        this(owner, tokens, sentAtNanos, incarnation, List.of());
    }

    /** Creates the grant of one permit. */
    public Grant(OwnerToken owner, TokenRange tokens, long sentAtNanos, Incarnation incarnation, int slot) {
        this(owner, tokens, sentAtNanos, incarnation, List.of(slot));
    }

    /** Refuses nulls. */
    public Grant {
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(tokens, "tokens");
        Objects.requireNonNull(incarnation, "incarnation");
        slots = List.copyOf(slots);
    }

    /** The slot of a permit, the first if there are several; 0 for a lock. */
    public int slot() {
        return slots.isEmpty() ? 0 : slots.get(0);
    }
}
