package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Which attempts of this client a member may have been asked to wake it for. A member knows clients, not attempts: so a client
 * leaves its place there only when none of its attempts waits any more, and tells itself of a lock that it has given back.
 *
 * <p>What nobody ends is forgotten with the place. Guarded by itself.
 */
final class ClientPlaces {

    private static final int SWEEP_EVERY = 4_096;

    private final LongSupplier nanoTime;
    private final Map<LockName, Map<OwnerToken, Place>> places = new HashMap<>();
    private int entered;

    /** Superseded: the attempt goes on under another owner token, which it has not told yet. */
    private record Place(long untilAtNanos, boolean superseded) {}

    ClientPlaces(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** The attempt asks to be woken, for so long. Whether it had not before. */
    synchronized boolean enter(LockName name, OwnerToken owner, long placeNanos) {
        long nowNanos = nanoTime.getAsLong();
        if (++entered % SWEEP_EVERY == 0) {
            places.values().removeIf(ofOne -> isEmpty(ofOne, nowNanos));
        }
        Map<OwnerToken, Place> ofOne = places.computeIfAbsent(name, missing -> new HashMap<>(2));
        ofOne.values().removeIf(Place::superseded);
        return ofOne.put(owner, new Place(nowNanos + placeNanos, false)) == null;
    }

    /** The owner token ends, and its attempt does not. */
    synchronized void supersede(LockName name, OwnerToken owner) {
        Map<OwnerToken, Place> ofOne = places.get(name);
        if (ofOne != null) {
            ofOne.computeIfPresent(owner, (token, place) -> new Place(place.untilAtNanos(), true));
        }
    }

    /** The attempt is over, or was not asked to wait. */
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
