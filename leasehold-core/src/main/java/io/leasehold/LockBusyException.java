package io.leasehold;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Thrown if another holder kept the lock until the caller's patience ended. */
public final class LockBusyException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final LockName lockName;
    private final Duration waited;
    private final transient @Nullable Holder holder;
    private final transient @Nullable List<NodeVote> votes;

    /** The lock stayed busy. */
    public LockBusyException(LockName lockName, Duration waited, @Nullable Holder holder) {
        this(lockName, waited, holder, List.of());
    }

    /** The lock stayed busy at several nodes. */
    public LockBusyException(LockName lockName, Duration waited, @Nullable Holder holder, List<NodeVote> votes) {
        super("lock \"" + lockName + "\" is busy: waited " + waited.toMillis() + " ms"
                + (holder == null ? "" : ", held by " + holder.id()));
        this.lockName = lockName;
        this.waited = waited;
        this.holder = holder;
        this.votes = List.copyOf(votes);
    }

    /** The lock. */
    public LockName lockName() {
        return lockName;
    }

    /** The duration of the attempt. */
    public Duration waited() {
        return waited;
    }

    /** Its holder at the last answer, if the store reported one. */
    public @Nullable Holder holder() {
        return holder;
    }

    /** The last answer of each node; empty for a store that is one node. */
    public List<NodeVote> votes() {
        return votes == null ? List.of() : votes;
    }
}
