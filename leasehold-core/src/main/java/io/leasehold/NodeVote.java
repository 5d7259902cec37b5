package io.leasehold;

import java.util.Locale;
import java.util.Objects;

/**
 * One node's answer to one attempt, for logs and messages.
 *
 * @param node the node, without secrets
 * @param answer the kind of answer
 * @param detail the human-readable detail, possibly empty
 */
public record NodeVote(String node, Answer answer, String detail) {

    /** Refuses nulls. */
    public NodeVote {
        Objects.requireNonNull(node, "node");
        Objects.requireNonNull(answer, "answer");
        Objects.requireNonNull(detail, "detail");
    }

    /** Human-readable, such as {@code node-1: busy (held by app-7/1234)}. */
    @Override
    public String toString() {
        return node + ": " + answer.name().toLowerCase(Locale.ROOT) + (detail.isEmpty() ? "" : " (" + detail + ")");
    }

    /** The kinds of answers. The list is complete for this version; a later one may add values. */
    public enum Answer {
        /** The node granted the lock. */
        GRANTED,
        /** Another client holds the lock. */
        BUSY,
        /** The node does not grant any lock now. */
        REFUSED,
        /** The node failed or did not answer in time. */
        FAILED
    }
}
