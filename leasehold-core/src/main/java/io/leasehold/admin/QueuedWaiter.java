package io.leasehold.admin;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One place in the queue of a lock, as the store tells it. Public: it never contains the owner token.
 *
 * @param holderId the readable holder id under which the waiter would hold, or a stranger's description
 * @param waited for how long it has had its place, or null if the store does not tell
 */
public record QueuedWaiter(String holderId, @Nullable Duration waited) {

    /** Refuses null where it says nothing. */
    public QueuedWaiter {
        Objects.requireNonNull(holderId, "holderId");
    }
}
