package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store could not serve. The message states what happened, to which lock, at which node, and what to do.
 * With several nodes, {@link #votes()} has each node's answer.
 */
public class LockStoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient @Nullable List<NodeVote> votes;

    /** An error of one node. */
    public LockStoreException(String message, @Nullable Throwable cause) {
        this(message, List.of(), cause);
    }

    /** An error of several nodes. */
    public LockStoreException(String message, List<NodeVote> votes, @Nullable Throwable cause) {
        super(message, cause);
        this.votes = List.copyOf(votes);
    }

    /** Each node's answer, as far as it is known; empty for a store that is one node. */
    public final List<NodeVote> votes() {
        return votes == null ? List.of() : votes;
    }
}
