package io.leasehold.memory;

import io.leasehold.Holder;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The state of one name at an {@link InMemoryNode}. Not thread-safe. */
final class NameState {

    @Nullable
    Held held;

    long fence;
    /** The waiters in their order. The map that can grow is made for the first: most names never have one. */
    Map<OwnerToken, Place> waiters = Collections.emptyMap();

    /** A place in the queue, with the request of its waiter. */
    record Place(String holderId, int reserve, long claimNanos, long sinceAtNanos, long forgottenAtNanos) {}

    /** A hold. */
    record Held(OwnerToken owner, String holderId, long token, long endsAtNanos) {

        Holder asHolder(long nowNanos) {
            return new Holder(holderId, Duration.ofNanos(endsAtNanos - nowNanos), OptionalLong.of(token));
        }
    }

    NameState copy() {
        NameState copy = new NameState();
        copy.held = held;
        copy.fence = fence;
        waiters.forEach(copy::keep);
        return copy;
    }

    void keep(OwnerToken owner, Place place) {
        if (waiters.isEmpty()) {
            waiters = new LinkedHashMap<>(4);
        }
        waiters.put(owner, place);
    }

    /** Returns the hold, unless it has ended by this time. */
    @Nullable
    Held heldAt(long nowNanos) {
        if (held != null && nowNanos - held.endsAtNanos() >= 0) {
            held = null;
        }
        return held;
    }

    /**
     * Whether a free lock goes to this caller: it goes to its first waiter, and to a caller that does not wait only if
     * there are no waiters.
     */
    boolean isFirst(OwnerToken owner) {
        return waiters.isEmpty() || waiters.keySet().iterator().next().equals(owner);
    }

    void dropSilentWaiters(long nowNanos) {
        if (!waiters.isEmpty()) {
            waiters.values().removeIf(place -> nowNanos - place.forgottenAtNanos() >= 0);
        }
    }

    /**
     * Removes the client's earlier place: at a member of a set a client has one place, under any of its owner tokens.
     */
    void forgetPlaceOf(String holderId) {
        waiters.values().removeIf(place -> place.holderId().equals(holderId));
    }
}
