package io.leasehold.simulator.history;

import java.util.Objects;

/**
 * A violation of a guarantee.
 *
 * @param subject the lock or resource
 * @param what the description, with the two contradicting events
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
