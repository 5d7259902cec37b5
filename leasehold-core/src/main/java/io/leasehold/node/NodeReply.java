package io.leasehold.node;

import io.leasehold.Holder;
import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One node's answer to a {@link Ballot}. */
public sealed interface NodeReply {

    /** An answer from the node, which contains its incarnation and its clock. */
    sealed interface Answered extends NodeReply {
        /** The incarnation that answered. */
        Incarnation incarnation();

        /** The node's clock when it answered, in microseconds since 1970. */
        long serverMicros();
    }

    /**
     * The candidate is granted: the lock was free or this owner token already held it, and the node has stored
     * {@code candidate + reserve − 1} as the fence.
     *
     * @param slots the slots of permits, in the order of their tokens; empty for a lock
     */
    record Yes(Incarnation incarnation, long serverMicros, List<Integer> slots) implements Answered {
        /** Creates the answer for a lock. */
        public Yes(Incarnation incarnation, long serverMicros) {
            this(incarnation, serverMicros, List.of());
        }

        /** Copies the slots. */
        public Yes {
            slots = List.copyOf(slots);
        }
    }

    /**
     * The candidate does not exceed the floor.
     *
     * @param floor the number that it must exceed: max(stored fence, node clock − retention)
     */
    record Stale(long floor, Incarnation incarnation, long serverMicros) implements Answered {}

    /**
     * Another client holds the lock, or other clients wait before the caller.
     *
     * @param holder its holder, if known; a foreign holder is described
     * @param queued whether the node has queued the caller
     */
    record Held(@Nullable Holder holder, boolean queued, Incarnation incarnation, long serverMicros)
            implements Answered {}

    /**
     * The node must not grant: a candidate beyond the bound, or an untrusted clock.
     *
     * @param reason human-readable
     * @param retryNanos the time after which a retry makes sense
     * @param spent whether the node may still hold something for this owner token, which must then be ended and not be used
     *     again: a grant that replicas did not acknowledge
     */
    record Refused(String reason, long retryNanos, Incarnation incarnation, long serverMicros, boolean spent)
            implements Answered {
        /** Creates a refusal: nothing was granted, and the caller may retry with the same owner token. */
        public Refused(String reason, long retryNanos, Incarnation incarnation, long serverMicros) {
            this(reason, retryNanos, incarnation, serverMicros, false);
        }

        /** Refuses null. */
        public Refused {
            Objects.requireNonNull(reason, "reason");
        }
    }

    /**
     * The node, a member of a quorum, may have lost earlier grants.
     *
     * @param leftNanos the time for which it still grants nothing
     */
    record Quarantined(long leftNanos, Incarnation incarnation, long serverMicros) implements Answered {

        /** The human-readable reason. */
        public String reason() {
            return inWords(leftNanos / 1_000_000 + 1);
        }

        /** The human-readable reason with the remaining time. */
        public static String inWords(long leftMillis) {
            return "it may have forgotten what it granted, and grants nothing for " + leftMillis + " ms more";
        }
    }

    /**
     * The node, a member of a quorum, does not know the age of its memory, and therefore grants nothing.
     *
     * @param nonce the name of this life: see {@link Birth}
     */
    record Unborn(String nonce, Incarnation incarnation, long serverMicros) implements Answered {
        /** Refuses null. */
        public Unborn {
            Objects.requireNonNull(nonce, "nonce");
        }
    }

    /**
     * The node is a member of another set, or of this one with another configuration.
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
