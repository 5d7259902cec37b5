package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.List;
import java.util.Objects;

/**
 * A request to end everything that an owner token has or may have: its hold, its place in the queue, and, by raising
 * the fence to {@code ballot}, every late copy of its requests. Idempotent; once it is sent, only copies of it are ever
 * sent with this owner token.
 *
 * @param names the locks
 * @param owner the owner token
 * @param ballot the highest fencing token proposed or granted under it, or zero
 * @param kind the reason
 * @param timeoutNanos the time limit after which the store must complete its reply
 */
public record ReleaseRequest(List<LockName> names, OwnerToken owner, long ballot, Kind kind, long timeoutNanos) {

    /** Refuses nulls and copies the names. */
    public ReleaseRequest {
        names = List.copyOf(names);
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(kind, "kind");
    }

    /** Why an owner token ends. */
    public enum Kind {
        /** The holder is done. */
        RELEASE,
        /** The attempt was abandoned: it may hold, wait, or never have arrived. */
        UNDO,
        /**
         * The attempt continues under another owner token: as {@link #UNDO}, but the waiter keeps its place. Sent only
         * to members of a quorum.
         */
        SUPERSEDED
    }
}
