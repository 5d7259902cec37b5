package io.leasehold.spi;

import java.util.Objects;

/**
 * A request to acquire together with the fencing token it proposes.
 *
 * @param request the request
 * @param candidate the proposed token of the first lease
 * @param reserve how many tokens from {@code candidate} on the grant may hand out
 */
public record Ballot(AcquireRequest request, long candidate, int reserve) {

    /** Refuses null and what is out of bounds. */
    public Ballot {
        Objects.requireNonNull(request, "request");
        TokenRange.of(candidate, reserve);
    }

    /** The tokens it would grant. */
    public TokenRange tokens() {
        return TokenRange.of(candidate, reserve);
    }
}
