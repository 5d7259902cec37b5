package io.leasehold.simulator.history;

import java.util.Objects;

/** Something that a process did or believed at a moment. */
public sealed interface HistoryEvent {

    /** When, on the common monotonic clock, in nanoseconds. */
    long atNanos();

    /** Which process: unique over restarts. */
    String process();

    /**
     * A holder got a lease, and believes in it until {@code untilAtNanos}.
     *
     * @param atNanos not before the acquiring call had returned
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param untilAtNanos not after the end that the lease itself tells
     */
    record Acquired(long atNanos, String process, String lock, long token, long untilAtNanos) implements HistoryEvent {
        /** Refuses nulls. */
        public Acquired {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /**
     * A holder saw that its lease reaches further than it knew.
     *
     * @param atNanos when it looked
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param untilAtNanos not after the end that the lease itself tells
     */
    record Extended(long atNanos, String process, String lock, long token, long untilAtNanos) implements HistoryEvent {
        /** Refuses nulls. */
        public Extended {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /**
     * A holder believes in its lease no more.
     *
     * @param atNanos before the release was called, or after the loss was told
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param how in one word
     */
    record Ended(long atNanos, String process, String lock, long token, String how) implements HistoryEvent {
        /** Refuses nulls. */
        public Ended {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
            Objects.requireNonNull(how, "how");
        }
    }

    /**
     * A holder entered its lock once more, or left it but for the last time.
     *
     * @param atNanos when
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token that it sees
     * @param depth how many times it is inside after that
     */
    record Nested(long atNanos, String process, String lock, long token, int depth) implements HistoryEvent {
        /** Refuses nulls. */
        public Nested {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /**
     * A release has returned.
     *
     * @param atNanos when
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param outcome its outcome, in one word
     */
    record Released(long atNanos, String process, String lock, long token, String outcome) implements HistoryEvent {
        /** Refuses nulls. */
        public Released {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
            Objects.requireNonNull(outcome, "outcome");
        }
    }

    /** The act of a holder on a protected resource. */
    enum Access {
        /** It asked for the value. */
        READ,
        /** It set the value. */
        WRITE
    }

    /**
     * A protected resource was used; written by the resource, in the order in which it happened there.
     *
     * @param atNanos when
     * @param process the resource
     * @param resource which counter
     * @param access read or write
     * @param token the fencing token that came with it
     * @param value the value that was read, or was to be written
     * @param accepted false if the resource refused the token
     */
    record Accessed(
            long atNanos, String process, String resource, Access access, long token, long value, boolean accepted)
            implements HistoryEvent {
        /** Refuses nulls. */
        public Accessed {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(resource, "resource");
            Objects.requireNonNull(access, "access");
        }
    }
}
