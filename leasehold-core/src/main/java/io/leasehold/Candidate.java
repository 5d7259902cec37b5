package io.leasehold;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * A candidate that waits to be elected, as the store reports it.
 *
 * @param holderId the public id of its client: {@link LockClient#holderId()}
 * @param label the label of its client; empty if it has none, or the store keeps no record of it
 * @param waited the time since it took its place in the queue, if the store reports it
 */
public record Candidate(String holderId, String label, Optional<Duration> waited) {
    /** Refuses nulls. */
    public Candidate {
        Objects.requireNonNull(holderId, "holderId");
        Objects.requireNonNull(label, "label");
        Objects.requireNonNull(waited, "waited");
    }
}
