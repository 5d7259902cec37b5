package io.leasehold.admin;

import java.util.Objects;

/**
 * A lock or key at a store that should have been released or removed, as {@link LockAdmin#leaks} finds it.
 *
 * @param kind the kind of leak
 * @param subject the name of the lock, or of another object such as a key
 * @param detail the holder, since when, and why it counts as a leak; one human-readable sentence
 */
public record Leak(Kind kind, String subject, String detail) {

    /** The kind of leak. The list is closed; handle unknown values all the same. */
    public enum Kind {
        /** A lock without an end: nothing frees it but its holder or an operator. */
        NO_TTL,
        /** A hold whose client has shown no sign of life for longer than its record lasts. */
        HOLDER_GONE,
        /** A free lock that still has a waiter. */
        WAITERS_STUCK,
        /** An object beside a lock that nothing will ever remove, or that is unreadable. */
        SIDE_KEY,
        /** A hold far longer than allowed by the caller. */
        HELD_TOO_LONG
    }

    /** Refuses nulls. */
    public Leak {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(subject, "subject");
        Objects.requireNonNull(detail, "detail");
    }
}
