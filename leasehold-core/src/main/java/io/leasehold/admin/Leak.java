package io.leasehold.admin;

import java.util.Objects;

/**
 * A lock or key at a store that should have been released or removed, as {@link LockAdmin#leaks} finds it.
 *
 * @param kind the kind of leak
 * @param subject the name of the lock, or of another object such as a key
 * @param detail the holder, the time since it holds, and the reason why it counts as a leak; one human-readable
 *     sentence
 */
public record Leak(Kind kind, String subject, String detail) {

    /** The kind of leak. The list is complete for this version; a later one may add values. */
    public enum Kind {
        /** A lock without an end: only its holder or an operator can free it. */
        NO_TTL,
        /** A hold whose client has shown no sign of life for longer than its record lasts. */
        HOLDER_GONE,
        /** A free lock that still has a waiter. */
        WAITERS_STUCK,
        /** An object that belongs to a lock and will never be removed, or is unreadable. */
        SIDE_KEY,
        /** A hold longer than the caller of {@link LockAdmin#leaks} allows. */
        HELD_TOO_LONG
    }

    /** Refuses nulls. */
    public Leak {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(subject, "subject");
        Objects.requireNonNull(detail, "detail");
    }
}
