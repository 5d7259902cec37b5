package io.leasehold.spi;

import io.leasehold.LockStoreException;
import io.leasehold.NodeVote;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * The answers to a {@link RenewBatch}, one for each item in its order.
 *
 * @param items the answers
 */
public record RenewReply(List<Item> items) {

    /** Copies the items. */
    public RenewReply {
        items = List.copyOf(items);
    }

    /** The reply to a batch in which every renewal failed with this error. */
    public static RenewReply failed(RenewBatch batch, LockStoreException error) {
        return new RenewReply(Collections.nCopies(batch.items().size(), new Failed(error)));
    }

    /** The answer to one renewal. */
    public sealed interface Item {
        /** Each node's answer; empty for a store that is one node, and for a renewed lock. */
        default List<NodeVote> votes() {
            return List.of();
        }
    }

    /**
     * The lock is kept for another ttl.
     *
     * @param sentAtNanos the start of that ttl: the time when the batch was sent or, at a store whose session keeps
     *     locks alive, when the session's last confirmed heartbeat was sent
     */
    public record Renewed(long sentAtNanos) implements Item {}

    /** The owner token no longer holds this lock. */
    public record NotOurs(List<NodeVote> votes) implements Item {
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
     * The outcome is unknown.
     *
     * @param error the error
     */
    public record Failed(LockStoreException error) implements Item {
        /** Refuses null. */
        public Failed {
            Objects.requireNonNull(error, "error");
        }

        @Override
        public List<NodeVote> votes() {
            return error.votes();
        }
    }
}
