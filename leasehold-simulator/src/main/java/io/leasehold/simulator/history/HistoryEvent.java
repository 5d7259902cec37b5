package io.leasehold.simulator.history;

import java.util.Objects;

/** An action or a belief of a process at one moment. */
public sealed interface HistoryEvent {

    /** The time, on the common monotonic clock, in nanoseconds. */
    long atNanos();

    /** The process: unique across restarts. */
    String process();

    /**
     * A holder obtained a lease, and relies on it until {@code untilAtNanos}.
     *
     * @param atNanos not before the acquiring call had returned
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param untilAtNanos not after the end that the lease reports
     */
    record Acquired(long atNanos, String process, String lock, long token, long untilAtNanos) implements HistoryEvent {
        /** Refuses nulls. */
        public Acquired {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /**
     * A holder has found that its lease lasts longer than it knew.
     *
     * @param atNanos the time of the check
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param untilAtNanos not after the end that the lease reports
     */
    record Extended(long atNanos, String process, String lock, long token, long untilAtNanos) implements HistoryEvent {
        /** Refuses nulls. */
        public Extended {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /**
     * A holder no longer relies on its lease.
     *
     * @param atNanos before the release was called, or after the loss was reported
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token
     * @param how the reason, in one word
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
     * A holder entered its lock again, or left it other than for the last time.
     *
     * @param atNanos the time
     * @param process the holder
     * @param lock the lock
     * @param token the fencing token that it sees
     * @param depth the number of its entries after that
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
     * @param atNanos the time
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

    /**
     * An operator has released a lock by force.
     *
     * @param atNanos the time, between the request and its answer
     * @param process the operator
     * @param lock the lock
     */
    record Forced(long atNanos, String process, String lock) implements HistoryEvent {
        /** Refuses nulls. */
        public Forced {
            Objects.requireNonNull(process, "process");
            Objects.requireNonNull(lock, "lock");
        }
    }

    /** The act of a holder on a protected resource. */
    enum Access {
        /** It read the value. */
        READ,
        /** It wrote the value. */
        WRITE
    }

    /**
     * A protected resource was used; the resource records this in its own order.
     *
     * @param atNanos the time
     * @param process the resource
     * @param resource the counter
     * @param access read or write
     * @param token the fencing token of the request
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
