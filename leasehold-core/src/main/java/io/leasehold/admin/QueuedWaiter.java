package io.leasehold.admin;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One place in the queue of a lock, as the store reports it. Public: it never contains the owner token.
 *
 * @param holderId the readable holder id under which the waiter would hold the lock, or the description of a foreign
 *     one
 * @param waited the time since it took its place, or null if the store does not report it
 */
public record QueuedWaiter(String holderId, @Nullable Duration waited) {

    /** Refuses null where it has no meaning. */
    public QueuedWaiter {
        Objects.requireNonNull(holderId, "holderId");
    }
}
