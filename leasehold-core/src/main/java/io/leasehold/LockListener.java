package io.leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Receives the events of locks, for metrics, logs and tests.
 *
 * <p>Called inline, on the thread of the event: a listener must be fast, must not block and must not call back into the lock.
 * Exceptions that it throws are logged and ignored.
 */
public interface LockListener {

    /** An attempt started; exactly one {@link #attemptEnded} follows. */
    default void attemptBegan(AttemptBegan event) {}

    /** An attempt ended; every attempt has exactly one outcome. */
    default void attemptEnded(AttemptEnded event) {}

    /** A renewal was answered or failed. */
    default void renewed(Renewed event) {}

    /** A hold is at risk: its renewal is late, or the store has lost contact with the session that keeps it. */
    default void atRisk(AtRisk event) {}

    /** A hold ended before it was released. Each hold ends with exactly one of this and {@link #released}. */
    default void lost(Lost event) {}

    /** A hold was released. */
    default void released(Released event) {}

    /** A hold was abandoned: its handle is unreachable or its thread has died; it is no longer renewed. */
    default void abandoned(Abandoned event) {}

    /**
     * The standing of a node of a set, as this client sees it, has changed; never called for a store that is one node.
     */
    default void nodeChanged(NodeChanged event) {}

    /** The standing of a node of a set. The list is complete for this version; a later one may add values. */
    enum NodeStanding {
        /** Its vote counts. */
        TRUSTED,
        /** It did not answer in time, or is not connected, or its server is not of the declared kind. */
        UNREACHABLE,
        /** It may have lost earlier grants, and grants nothing until they have expired. */
        QUARANTINED,
        /** Its clock jumped, or is too far from the others' to be trusted, or it is the same server as another node. */
        EXCLUDED,
        /** It is a member of another set, or of this one with another configuration. */
        OTHER_CONFIGURATION
    }

    /** How an attempt ended. The list is complete for this version; a later one may add values. */
    enum AttemptOutcome {
        /** The lock is held. */
        ACQUIRED,
        /** Another client holds it, and the caller did not wait. */
        BUSY,
        /** Another client held it until the caller's patience ended. */
        TIMEOUT,
        /** The store could not serve. */
        ERROR,
        /** The outcome of a request is unknown; it was compensated. */
        AMBIGUOUS,
        /** The caller was interrupted, cancelled its future, or closed the client. */
        INTERRUPTED
    }

    /** How a renewal ended. The list is complete for this version; a later one may add values. */
    enum RenewalOutcome {
        /** The validity was extended. */
        RENEWED,
        /** The store answered that the hold is gone. */
        NOT_OURS,
        /** No answer, or an error; the renewal is retried. */
        FAILED
    }

    /**
     * An attempt started.
     *
     * @param name the lock
     */
    record AttemptBegan(LockName name) {}

    /**
     * An attempt ended.
     *
     * @param name the lock
     * @param outcome its outcome
     * @param waited from the call to the outcome
     */
    record AttemptEnded(LockName name, AttemptOutcome outcome, Duration waited) {}

    /**
     * A renewal was answered or failed.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param outcome its outcome
     * @param headroom the validity that was left when the answer arrived, before it was applied
     * @param ttl the ttl, to compare the headroom with
     */
    record Renewed(LockName name, long fencingToken, RenewalOutcome outcome, Duration headroom, Duration ttl) {}

    /**
     * A hold is at risk.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param remaining the validity that is left
     */
    record AtRisk(LockName name, long fencingToken, Duration remaining) {}

    /**
     * A hold ended before it was released.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param cause the reason
     * @param held since it was acquired
     * @param votes each node's answer to the last renewal that did not succeed; empty for a store that is one node
     */
    record Lost(LockName name, long fencingToken, LossCause cause, Duration held, List<NodeVote> votes) {
        /** Copies the votes. */
        public Lost {
            votes = List.copyOf(votes);
        }
    }

    /**
     * A hold was released.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param outcome the store's confirmation
     * @param held since it was acquired
     * @param votes each node's answer; empty for a store that is one node
     */
    record Released(LockName name, long fencingToken, ReleaseOutcome outcome, Duration held, List<NodeVote> votes) {
        /** Copies the votes. */
        public Released {
            votes = List.copyOf(votes);
        }
    }

    /**
     * A hold was abandoned.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param cause {@link LossCause#LEAKED} or {@link LossCause#THREAD_DIED}; the lease is lost with it when its
     *     validity ends
     * @param held since it was acquired
     */
    record Abandoned(LockName name, long fencingToken, LossCause cause, Duration held) {}

    /**
     * The standing of a node has changed.
     *
     * @param node the node, without secrets
     * @param before its previous standing; a node counts as trusted until something else is known
     * @param now its new standing
     * @param detail the reason, human-readable; empty once it is trusted
     */
    record NodeChanged(String node, NodeStanding before, NodeStanding now, String detail) {
        /** Refuses nulls. */
        public NodeChanged {
            Objects.requireNonNull(node, "node");
            Objects.requireNonNull(before, "before");
            Objects.requireNonNull(now, "now");
            Objects.requireNonNull(detail, "detail");
        }
    }
}
