package io.leasehold.spi;

import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A store's answer to a request to acquire.
 *
 * <p>{@link #ballot()} is the highest fencing token that was proposed under the request's owner token (zero where there
 * are no ballots). The engine passes the highest ballot of an attempt to its undo or release. That raises the fence to
 * the ballot, so that no late copy of the request can be granted.
 */
public sealed interface AcquireReply {

    /** The highest fencing token proposed so far under this owner token, or zero. */
    long ballot();

    /** Each node's answer; empty for a store that is one node. */
    List<NodeVote> votes();

    /**
     * The request's owner token holds the locks.
     *
     * @param grant the details
     */
    record Granted(Grant grant, List<NodeVote> votes) implements AcquireReply {
        /** Refuses null and copies the votes. */
        public Granted {
            Objects.requireNonNull(grant, "grant");
            votes = List.copyOf(votes);
        }

        @Override
        public long ballot() {
            return grant.tokens().last();
        }
    }

    /**
     * Another client holds the lock; the store does not queue the caller.
     *
     * @param holder the holder, if the store reports one
     */
    record Busy(@Nullable Holder holder, long ballot, List<NodeVote> votes) implements AcquireReply {
        /** Copies the votes. */
        public Busy {
            votes = List.copyOf(votes);
        }
    }

    /**
     * Another client holds the lock or waits before the caller; the store queues the caller and wakes it. The caller
     * asks again after the request's {@code recheckNanos} at the latest, and thereby keeps its place.
     *
     * @param holder the holder, if the store reports one
     */
    record Queued(@Nullable Holder holder, long ballot, List<NodeVote> votes) implements AcquireReply {
        /** Copies the votes. */
        public Queued {
            votes = List.copyOf(votes);
        }
    }

    /**
     * The store must not grant now although the lock may be free: quarantine, resharding, no quorum.
     *
     * @param reason human-readable
     * @param retryNanos the time after which a retry makes sense
     * @param spent whether this owner token can no longer be granted a lock: its ballots would be too far ahead of the
     *     node's clock, or its grant does not count. The caller ends it, and continues with another
     */
    record Refused(String reason, long retryNanos, long ballot, List<NodeVote> votes, boolean spent)
            implements AcquireReply {
        /** Creates a refusal after which the caller may retry with the same owner token. */
        public Refused(String reason, long retryNanos, long ballot, List<NodeVote> votes) {
            this(reason, retryNanos, ballot, votes, false);
        }

        /** Refuses null and copies the votes. */
        public Refused {
            Objects.requireNonNull(reason, "reason");
            votes = List.copyOf(votes);
        }
    }

    /**
     * The request failed.
     *
     * @param kind the effect of the failure
     * @param error the error for the caller: what happened, where, and what to do
     */
    record Failed(FailureKind kind, LockStoreException error, long ballot) implements AcquireReply {
        /** Refuses nulls. */
        public Failed {
            Objects.requireNonNull(kind, "kind");
            Objects.requireNonNull(error, "error");
        }

        @Override
        public List<NodeVote> votes() {
            return error.votes();
        }
    }
}
