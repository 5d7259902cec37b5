package io.leasehold.admin;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of one check of a store: a grade, the reason, and a remedy.
 *
 * @param check the short, stable name of the check, such as {@code eviction}
 * @param grade the grade
 * @param reason the observation, with the server; one sentence
 * @param remedy the command to run or the step to take, or null if there is nothing to do
 */
public record Finding(
        String check, Grade grade, String reason, @Nullable String remedy) {

    /** The grade, from good to bad. The list is complete for this version; a later one may add values. */
    public enum Grade {
        /** The check passed. */
        GOOD,
        /** The check could not be carried out; nothing is known. */
        UNKNOWN,
        /** It may cause a failure later. */
        WARNING,
        /** Two clients may hold one lock, or locks may vanish. */
        UNSAFE
    }

    /** Refuses null where it has no meaning. */
    public Finding {
        Objects.requireNonNull(check, "check");
        Objects.requireNonNull(grade, "grade");
        Objects.requireNonNull(reason, "reason");
    }

    /** Creates a finding of a check that passed. */
    public static Finding good(String check, String reason) {
        return new Finding(check, Grade.GOOD, reason, null);
    }

    /** Creates a finding of a check that could not be carried out. */
    public static Finding unknown(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.UNKNOWN, reason, remedy);
    }

    /** It may cause a failure later. */
    public static Finding warning(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.WARNING, reason, remedy);
    }

    /** Creates a finding that makes locks unsafe. */
    public static Finding unsafe(String check, String reason, @Nullable String remedy) {
        return new Finding(check, Grade.UNSAFE, reason, remedy);
    }
}
