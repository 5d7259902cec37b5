package io.leasehold.node;

import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.TokenRange;
import java.util.Objects;

/**
 * A request to acquire with its proposed fencing token.
 *
 * @param request the request
 * @param candidate the proposed token of the first lease
 * @param reserve the number of tokens, from {@code candidate} on, that the grant may hand out
 * @param claimNanos if the node queues the caller: the time within which the caller must claim a hand-over, with tokens that
 *     the node chooses; zero if the node only wakes it
 * @param place at a member of a quorum that {@linkplain LockNode#keepsReaders() keeps readers}: the place of the caller,
 *     the same at every member. {@link #HOLDERS} stands before every waiter, and zero (no place) behind all of them
 */
public record Ballot(AcquireRequest request, long candidate, int reserve, long claimNanos, long place) {

    /** The place of a caller that holds the lock at other members. */
    public static final long HOLDERS = 1;

    /** Creates a ballot without a place, for a node that is a store of its own. */
    public Ballot(AcquireRequest request, long candidate, int reserve, long claimNanos) {
        this(request, candidate, reserve, claimNanos, 0);
    }

    /**
     * Creates a ballot without hand-over: the only kind for several nodes, since each node would choose a different
     * next holder.
     */
    public Ballot(AcquireRequest request, long candidate, int reserve) {
        this(request, candidate, reserve, 0, 0);
    }

    /** Refuses null and values out of bounds. */
    public Ballot {
        Objects.requireNonNull(request, "request");
        TokenRange.of(candidate, reserve);
    }

    /** The tokens that it would grant. */
    public TokenRange tokens() {
        return TokenRange.of(candidate, reserve);
    }
}
