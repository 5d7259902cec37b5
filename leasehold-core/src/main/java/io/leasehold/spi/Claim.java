package io.leasehold.spi;

import java.util.Objects;

/**
 * A hand-over whose beginning a store has proved: the store keeps the hold for the claim time, counted from the
 * beginning of the grant. A lease may begin from it without a request.
 *
 * @param handOver the message
 * @param grant the owner token, the tokens, and the beginning: by the client's clock, not after the node wrote the hold
 * @param claimNanos the time for which the node keeps the hold without a renewal
 */
public record Claim(HandOver handOver, Grant grant, long claimNanos) {

    /** Refuses nulls. */
    public Claim {
        Objects.requireNonNull(handOver, "handOver");
        Objects.requireNonNull(grant, "grant");
    }
}
