package io.leasehold;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of an attempt that the store answered: acquired or busy. Failures are exceptions.
 *
 * @param <H> the kind of hold
 */
public sealed interface Attempt<H extends Hold> {

    /** The hold, or null if the lock was busy. */
    @Nullable
    H orElseNull();

    /**
     * The hold.
     *
     * @throws LockBusyException if the lock was busy
     */
    H orElseThrow();

    /**
     * The lock was acquired.
     *
     * @param lease the hold, which the caller must release
     */
    record Acquired<H extends Hold>(H lease) implements Attempt<H> {
        /** Refuses null. */
        public Acquired {
            Objects.requireNonNull(lease, "lease");
        }

        @Override
        public H orElseNull() {
            return lease;
        }

        @Override
        public H orElseThrow() {
            return lease;
        }
    }

    /**
     * Another holder kept the lock until the caller's patience ended.
     *
     * @param lockName the lock
     * @param waited the duration of the attempt
     * @param holder its holder at the last answer, if the store reported one
     * @param votes the last answer of each node
     */
    record Busy<H extends Hold>(
            LockName lockName, Duration waited, @Nullable Holder holder, List<NodeVote> votes) implements Attempt<H> {
        /** Refuses nulls and copies the votes. */
        public Busy {
            Objects.requireNonNull(lockName, "lockName");
            Objects.requireNonNull(waited, "waited");
            votes = List.copyOf(votes);
        }

        @Override
        public @Nullable H orElseNull() {
            return null;
        }

        @Override
        public H orElseThrow() {
            throw new LockBusyException(lockName, waited, holder, votes);
        }
    }
}
