package io.leasehold;

import java.util.Objects;

/**
 * One node's answer to one attempt, for people: which node said what.
 *
 * @param node the node, without secrets
 * @param answer the kind of answer
 * @param detail more in words, possibly empty
 */
public record NodeVote(String node, Answer answer, String detail) {

    /** Refuses nulls. */
    public NodeVote {
        Objects.requireNonNull(node, "node");
        Objects.requireNonNull(answer, "answer");
        Objects.requireNonNull(detail, "detail");
    }

    /** The kinds of answers. The list is closed; handle unknown values all the same. */
    public enum Answer {
        /** The node granted the lock. */
        GRANTED,
        /** The lock is held by somebody else. */
        BUSY,
        /** The node may not or will not grant now. */
        REFUSED,
        /** The node failed or did not answer in time. */
        FAILED
    }
}
