package io.leasehold;

import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Who holds a lock, as the store tells it. Public: it never contains the owner token.
 *
 * @param id the readable holder id (host, pid, client, label), or a stranger's description
 * @param remainingTtl how long the store will still keep the lock, or null if it has no end or is not
 *     known
 * @param fencingToken the token of the hold, where the store knows it
 */
public record Holder(String id, @Nullable Duration remainingTtl, OptionalLong fencingToken) {

    /** Refuses nulls where they say nothing. */
    public Holder {
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(fencingToken, "fencingToken");
    }
}
