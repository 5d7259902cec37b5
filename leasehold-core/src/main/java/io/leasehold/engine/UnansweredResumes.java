package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The attempts to resume whose outcome is unknown, by the secret of their ticket. A ticket may have been swapped for the
 * owner token of such an attempt, so the next attempt with this ticket continues with the same owner token. At most one
 * attempt at a time has it. Safe for use by any thread.
 */
final class UnansweredResumes {

    /**
     * An attempt.
     *
     * @param owner its owner token
     * @param ballot the highest fencing token that it has proposed
     * @param untilAtNanos when the store has forgotten it
     */
    record Unanswered(OwnerToken owner, long ballot, long untilAtNanos) {}

    private final Map<String, Unanswered> all = new HashMap<>();

    synchronized void keep(String secret, Unanswered attempt, long nowNanos) {
        all.values().removeIf(known -> known.untilAtNanos() - nowNanos <= 0);
        all.put(secret, attempt);
    }

    /** Takes the attempt, which the caller continues; null if there is none. */
    synchronized @Nullable Unanswered take(String secret) {
        return all.isEmpty() ? null : all.remove(secret);
    }
}
