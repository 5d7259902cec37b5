package io.leasehold;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The leader of an election as the store reports it.
 *
 * @param holderId the public id of its client: {@link LockClient#holderId()}
 * @param label the label of its client; empty if it has none, has led for less than a second, or the store keeps no records
 * @param term the number of its term, where the store knows it
 * @param since when it began to lead, by its own clock; empty where the label is
 */
public record Leader(String holderId, String label, OptionalLong term, Optional<Instant> since) {
    /** Refuses nulls. */
    public Leader {
        Objects.requireNonNull(holderId, "holderId");
        Objects.requireNonNull(label, "label");
        Objects.requireNonNull(term, "term");
        Objects.requireNonNull(since, "since");
    }
}
