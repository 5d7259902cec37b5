package io.leasehold.spi;

import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import java.util.List;
import java.util.Objects;

/** A store's answer to a release or undo. */
public sealed interface ReleaseReply {

    /** Each node's answer; empty for a store that is one node. */
    List<NodeVote> votes();

    /**
     * This owner token held the lock, and no longer does.
     *
     * @param awaited whether a waiter was woken: a hint
     */
    record Released(List<NodeVote> votes, boolean awaited) implements ReleaseReply {
        /** Copies the votes. */
        public Released {
            votes = List.copyOf(votes);
        }

        /** Creates the answer of a store that is one node, and hands a lock over to its waiters. */
        public Released() {
            this(List.of(), false);
        }
    }

    /** This owner token did not hold the lock. */
    record NotOurs(List<NodeVote> votes) implements ReleaseReply {
        /** Copies the votes. */
        public NotOurs {
            votes = List.copyOf(votes);
        }

        /** Creates the answer of a store that is one node. */
        public NotOurs() {
            this(List.of());
        }
    }

    /**
     * The outcome is unknown; the engine repeats the request.
     *
     * @param kind {@link FailureKind#PERMANENT} if repeating does not help
     * @param error the error
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
