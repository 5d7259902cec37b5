package io.leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Hears of what locks do, for metrics, logs and tests.
 *
 * <p>Called inline, on whatever thread the event happened: a listener must be fast, must not block and
 * must not call back into the lock. What it throws is logged and ignored.
 */
public interface LockListener {

    /** Somebody wants a lock; what follows is exactly one {@link #attemptEnded}. */
    default void attemptBegan(AttemptBegan event) {}

    /** An attempt has ended; every attempt ends in exactly one outcome. */
    default void attemptEnded(AttemptEnded event) {}

    /** A renewal was answered or failed. */
    default void renewed(Renewed event) {}

    /** A hold is at risk: its renewal is late, or its store has lost contact to what keeps it. */
    default void atRisk(AtRisk event) {}

    /** A hold ended before it was released. Each hold ends in exactly one of this and {@link #released}. */
    default void lost(Lost event) {}

    /** A hold was given back. */
    default void released(Released event) {}

    /** A holder forgot its hold: its handle is unreachable or its thread has died; it is no longer renewed. */
    default void abandoned(Abandoned event) {}

    /** What a node of a set counts for, as this client sees it, has changed; never called at a store that is one node. */
    default void nodeChanged(NodeChanged event) {}

    /** What a node of a set counts for. The list is closed; handle unknown values all the same. */
    enum NodeStanding {
        /** Its vote counts. */
        TRUSTED,
        /** It did not answer in time, or there is no connection to it, or its server is not what it was declared to be. */
        UNREACHABLE,
        /** It may have forgotten what it granted, and grants nothing until that is over. */
        QUARANTINED,
        /** Its clock jumped, or is too far from the others' to be believed, or it is the same server as another node. */
        EXCLUDED,
        /** It is a member of another set, or of this one as somebody else has configured it. */
        OTHER_CONFIGURATION
    }

    /** How an attempt ended. The list is closed; handle unknown values all the same. */
    enum AttemptOutcome {
        /** The lock is held. */
        ACQUIRED,
        /** Held by somebody else, and the caller did not want to wait. */
        BUSY,
        /** Held by somebody else until the caller's patience ended. */
        TIMEOUT,
        /** The store could not serve. */
        ERROR,
        /** The outcome of a request is unknown; it was compensated. */
        AMBIGUOUS,
        /** The caller was interrupted, cancelled its future, or closed the client. */
        INTERRUPTED
    }

    /** How a renewal ended. The list is closed; handle unknown values all the same. */
    enum RenewalOutcome {
        /** The validity has moved. */
        RENEWED,
        /** The store said that the hold is gone. */
        NOT_OURS,
        /** No answer, or an error; it is tried again. */
        FAILED
    }

    /**
     * Somebody wants a lock.
     *
     * @param name the lock
     */
    record AttemptBegan(LockName name) {}

    /**
     * An attempt has ended.
     *
     * @param name the lock
     * @param outcome how
     * @param waited from the call to the outcome
     */
    record AttemptEnded(LockName name, AttemptOutcome outcome, Duration waited) {}

    /**
     * A renewal was answered or failed.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param outcome how
     * @param headroom the validity that was left when the answer came, before it counted
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
     * @param cause why
     * @param held since it was acquired
     * @param votes what each node said to the last renewal that did not succeed; empty for a store that is one node
     */
    record Lost(LockName name, long fencingToken, LossCause cause, Duration held, List<NodeVote> votes) {
        /** Copies the votes. */
        public Lost {
            votes = List.copyOf(votes);
        }
    }

    /**
     * A hold was given back.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param outcome what the store confirmed
     * @param held since it was acquired
     * @param votes what each node said; empty for a store that is one node
     */
    record Released(LockName name, long fencingToken, ReleaseOutcome outcome, Duration held, List<NodeVote> votes) {
        /** Copies the votes. */
        public Released {
            votes = List.copyOf(votes);
        }
    }

    /**
     * A holder forgot its hold.
     *
     * @param name the lock
     * @param fencingToken the lease
     * @param cause {@link LossCause#LEAKED} or {@link LossCause#THREAD_DIED}; the lease is lost with it when its
     *     validity ends
     * @param held since it was acquired
     */
    record Abandoned(LockName name, long fencingToken, LossCause cause, Duration held) {}

    /**
     * What a node counts for has changed.
     *
     * @param node the node, without secrets
     * @param before what it counted for; a node counts as trusted until something else is known
     * @param now what it counts for from now on
     * @param detail why, for people; empty once it is trusted
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
