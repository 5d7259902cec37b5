package io.leasehold.spi;

import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import java.util.List;
import java.util.Objects;

/** What a store answers to a release or undo. */
public sealed interface ReleaseReply {

    /** What each node said; empty for a store that is one node. */
    List<NodeVote> votes();

    /**
     * The lock was held by this owner token, and is not any more.
     *
     * @param awaited whether a waiter was told that it may be free now: a hint
     */
    record Released(List<NodeVote> votes, boolean awaited) implements ReleaseReply {
        /** Copies the votes. */
        public Released {
            votes = List.copyOf(votes);
        }

        /** Of a store that is one node, and hands over what somebody waits for. */
        public Released() {
            this(List.of(), false);
        }
    }

    /** The lock was not held by this owner token. */
    record NotOurs(List<NodeVote> votes) implements ReleaseReply {
        /** Copies the votes. */
        public NotOurs {
            votes = List.copyOf(votes);
        }

        /** Of a store that is one node. */
        public NotOurs() {
            this(List.of());
        }
    }

    /**
     * Not known; the engine repeats the request.
     *
     * @param kind {@link FailureKind#PERMANENT} if repeating does not help
     * @param error what happened
     */
    record Failed(FailureKind kind, LockStoreException error) implements ReleaseReply {
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
