package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The attempts of this client for which it may have requested wake-ups from a member. A member knows clients, not
 * attempts. Therefore a client leaves its place there only after the last of its attempts, and it wakes its own
 * attempts when it releases a lock.
 *
 * <p>An attempt that never ends is dropped when its place expires. Guarded by {@code this}.
 */
final class ClientPlaces {

    private static final int SWEEP_EVERY = 4_096;

    private final LongSupplier nanoTime;
    private final Map<LockName, Map<OwnerToken, Place>> places = new HashMap<>();
    private int entered;

    /** A place. If it is superseded, the attempt continues with another owner token, which it has not used here yet. */
    private record Place(long untilAtNanos, boolean superseded) {}

    ClientPlaces(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * The knowledge of an attempt at the time when it requested wake-ups.
     *
     * @param first whether its owner token had no place before
     * @param unwatched whether no earlier request of it, under this or another owner token, may be watched
     */
    record Entry(boolean first, boolean unwatched) {}

    /** Notes that the attempt requests wake-ups for this long. */
    synchronized Entry enter(LockName name, OwnerToken owner, long placeNanos) {
        long nowNanos = nanoTime.getAsLong();
        if (++entered % SWEEP_EVERY == 0) {
            places.values().removeIf(ofOne -> isEmpty(ofOne, nowNanos));
        }
        Map<OwnerToken, Place> ofOne = places.computeIfAbsent(name, missing -> new HashMap<>(2));
        // The place of this attempt, or of another attempt of this client: the member does not distinguish them.
        boolean superseded = ofOne.values().removeIf(Place::superseded);
        boolean first = ofOne.put(owner, new Place(nowNanos + placeNanos, false)) == null;
        return new Entry(first, first && !superseded);
    }

    /** Notes that the owner token ends but its attempt continues. */
    synchronized void supersede(LockName name, OwnerToken owner) {
        Map<OwnerToken, Place> ofOne = places.get(name);
        if (ofOne != null) {
            ofOne.computeIfPresent(owner, (token, place) -> new Place(place.untilAtNanos(), true));
        }
    }

    /** Notes that the attempt is over or has no place at the member. */
    synchronized void leave(LockName name, OwnerToken owner) {
        places.computeIfPresent(name, (n, ofOne) -> {
            ofOne.remove(owner);
            return ofOne.isEmpty() ? null : ofOne;
        });
    }

    /** Whether any attempt for this lock is left. */
    synchronized boolean isKept(LockName name) {
        Map<OwnerToken, Place> ofOne = places.get(name);
        return ofOne != null && !isEmpty(ofOne, nanoTime.getAsLong());
    }

    private static boolean isEmpty(Map<OwnerToken, Place> ofOne, long nowNanos) {
        ofOne.values().removeIf(place -> nowNanos - place.untilAtNanos() >= 0);
        return ofOne.isEmpty();
    }
}
