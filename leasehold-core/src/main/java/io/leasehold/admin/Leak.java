package io.leasehold.admin;

import java.util.Objects;

/**
 * Something at a store that should have been given back, or should not be there: what {@link LockAdmin#leaks} finds.
 *
 * @param kind what is wrong
 * @param subject the lock's name, or what else it is, such as a key
 * @param detail who holds it, since when, and why it counts as a leak; one sentence for people
 */
public record Leak(Kind kind, String subject, String detail) {

    /** What is wrong. The list is closed; handle unknown values all the same. */
    public enum Kind {
        /** A lock without an end: nothing frees it but its holder or an operator. */
        NO_TTL,
        /** A hold whose client has shown no sign of life for longer than its record lasts. */
        HOLDER_GONE,
        /** A lock is free, and yet somebody has been waiting for it. */
        WAITERS_STUCK,
        /** Something beside a lock that nothing will ever remove, or that nobody can read. */
        SIDE_KEY,
        /** A hold far longer than asked for. */
        HELD_TOO_LONG
    }

    /** Refuses nulls. */
    public Leak {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(subject, "subject");
        Objects.requireNonNull(detail, "detail");
    }
}
