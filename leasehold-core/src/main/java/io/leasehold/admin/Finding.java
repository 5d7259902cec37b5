package io.leasehold.admin;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one check of a store found: a grade, the reason, and what to do.
 *
 * @param check what was looked at: a short name that does not change, such as {@code eviction}
 * @param grade how it is
 * @param reason what was found, at which server; one sentence
 * @param remedy the line to paste or the step to take, or null if there is nothing to do
 */
public record Finding(
        String check, Grade grade, String reason, @Nullable String remedy) {

    /** How it is, from good to bad. The list is closed; handle unknown values all the same. */
    public enum Grade {
        /** As it should be. */
        GOOD,
        /** It could not be looked at; nothing is known. */
        UNKNOWN,
        /** Something that will hurt one day. */
        WARNING,
        /** Two may hold one lock, or locks may vanish. */
        UNSAFE
    }

    /** Refuses nulls where they say nothing. */
    public Finding {
        Objects.requireNonNull(check, "check");
        Objects.requireNonNull(grade, "grade");
        Objects.requireNonNull(reason, "reason");
    }

    /** Nothing to do. */
    public static Finding good(String check, String reason) {
        return new Finding(check, Grade.GOOD, reason, null);
    }

    /** It could not be looked at. */
    public static Finding unknown(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.UNKNOWN, reason, remedy);
    }

    /** It will hurt one day. */
    public static Finding warning(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.WARNING, reason, remedy);
    }

    /** Locks are not safe. */
    public static Finding unsafe(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.UNSAFE, reason, remedy);
    }
}
