package io.leasehold.simulator.history;

import java.util.Objects;

/**
 * Something that must not have happened.
 *
 * @param subject the lock or resource
 * @param what it is, with the two events that contradict each other
 */
public record Violation(String subject, String what) {
    /** Refuses nulls. */
    public Violation {
        Objects.requireNonNull(subject, "subject");
        Objects.requireNonNull(what, "what");
    }

    @Override
    public String toString() {
        return subject + ": " + what;
    }
}
