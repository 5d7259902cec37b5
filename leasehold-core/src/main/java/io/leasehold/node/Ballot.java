package io.leasehold.node;

import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.TokenRange;
import java.util.Objects;

/**
 * A request to acquire together with the fencing token it proposes.
 *
 * @param request the request
 * @param candidate the proposed token of the first lease
 * @param reserve how many tokens from {@code candidate} on the grant may hand out
 * @param claimNanos if the node queues the caller: for how long it may hand the lock over to it, with tokens of its own
 *     choice, before it has heard from it again; zero if it is only to wake it
 */
public record Ballot(AcquireRequest request, long candidate, int reserve, long claimNanos) {

    /** Without hand-over: the only kind where several nodes decide, since each would choose another next holder. */
    public Ballot(AcquireRequest request, long candidate, int reserve) {
        this(request, candidate, reserve, 0);
    }

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
