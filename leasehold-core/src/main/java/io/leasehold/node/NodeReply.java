package io.leasehold.node;

import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What one node answers to a {@link Ballot}. */
public sealed interface NodeReply {

    /** An answer that was really given by the node, and so carries its life and its clock. */
    sealed interface Answered extends NodeReply {
        /** The life of the node's memory that answered. */
        Incarnation incarnation();

        /** The node's clock when it answered, in microseconds since 1970. */
        long serverMicros();
    }

    /**
     * The candidate is granted: the lock was free or already this owner token's, and the node has stored
     * {@code candidate + reserve − 1} as the fence.
     */
    record Yes(Incarnation incarnation, long serverMicros) implements Answered {}

    /**
     * The candidate does not beat the floor.
     *
     * @param floor what it must beat: max(stored fence, node clock − retention)
     */
    record Stale(long floor, Incarnation incarnation, long serverMicros) implements Answered {}

    /**
     * The lock is held by somebody else, or others wait before the caller.
     *
     * @param holder who, if known; a foreign holder is described
     * @param queued whether the node remembers the caller as a waiter
     */
    record Held(@Nullable Holder holder, boolean queued, Incarnation incarnation, long serverMicros)
            implements Answered {}

    /**
     * The node may not grant: a candidate beyond the bound, or a clock that is not believed.
     *
     * @param reason for people
     * @param retryNanos after how long asking again makes sense
     * @param spent whether the node may hold something for this owner token nevertheless, so that it has to be ended, and
     *     nothing else be asked with it: a grant that replicas did not acknowledge
     */
    record Refused(String reason, long retryNanos, Incarnation incarnation, long serverMicros, boolean spent)
            implements Answered {
        /** Nothing was granted, and the caller may ask again with the same owner token. */
        public Refused(String reason, long retryNanos, Incarnation incarnation, long serverMicros) {
            this(reason, retryNanos, incarnation, serverMicros, false);
        }

        /** Refuses null. */
        public Refused {
            Objects.requireNonNull(reason, "reason");
        }
    }

    /**
     * The node, a member of a quorum, may have forgotten what it granted.
     *
     * @param leftNanos for how long it grants nothing
     */
    record Quarantined(long leftNanos, Incarnation incarnation, long serverMicros) implements Answered {

        /** For people. */
        public String reason() {
            return inWords(leftNanos / 1_000_000 + 1);
        }

        /** For people, with the time that is left. */
        public static String inWords(long leftMillis) {
            return "it may have forgotten what it granted, and grants nothing for " + leftMillis + " ms more";
        }
    }

    /**
     * The node, a member of a quorum, does not know since when it remembers, and so grants nothing.
     *
     * @param nonce names this life of its memory: see {@link Birth}
     */
    record Unborn(String nonce, Incarnation incarnation, long serverMicros) implements Answered {
        /** Refuses null. */
        public Unborn {
            Objects.requireNonNull(nonce, "nonce");
        }
    }

    /**
     * The node is a member of another set, or of this one as somebody else has configured it.
     *
     * @param configuration that set
     */
    record OtherSet(String configuration, Incarnation incarnation, long serverMicros) implements Answered {
        /** Refuses null. */
        public OtherSet {
            Objects.requireNonNull(configuration, "configuration");
        }
    }

    /** The request failed. */
    record Failed(FailureKind kind, LockStoreException error) implements NodeReply {
        /** Refuses nulls. */
        public Failed {
            Objects.requireNonNull(kind, "kind");
            Objects.requireNonNull(error, "error");
        }
    }
}
