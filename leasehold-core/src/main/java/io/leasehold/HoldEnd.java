package io.leasehold;

import java.util.List;
import java.util.Objects;

/** How a hold ended. The list is complete for this version; a later one may add values. */
public sealed interface HoldEnd {

    /** The last answer of each node, as far as it is known; empty for a store that is one node. */
    List<NodeVote> votes();

    /**
     * The holder released it.
     *
     * @param outcome the store's confirmation
     * @param votes each node's answer to the release
     */
    record Released(ReleaseOutcome outcome, List<NodeVote> votes) implements HoldEnd {
        /** Refuses null and copies the votes. */
        public Released {
            Objects.requireNonNull(outcome, "outcome");
            votes = List.copyOf(votes);
        }

        /** For a store that is one node. */
        public Released(ReleaseOutcome outcome) {
            this(outcome, List.of());
        }
    }

    /**
     * It ended before the holder released it.
     *
     * @param cause the reason
     * @param votes each node's answer to the last renewal that did not succeed
     */
    record Lost(LossCause cause, List<NodeVote> votes) implements HoldEnd {
        /** Refuses null and copies the votes. */
        public Lost {
            Objects.requireNonNull(cause, "cause");
            votes = List.copyOf(votes);
        }

        /** For a store that is one node. */
        public Lost(LossCause cause) {
            this(cause, List.of());
        }
    }
}
