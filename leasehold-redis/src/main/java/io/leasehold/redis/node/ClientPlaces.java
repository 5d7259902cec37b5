package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Which attempts of this client a member may have been asked to wake it for. A member knows clients, not attempts: so a client
 * leaves its place there only when none of its attempts waits any more, and tells itself of a lock that it has given back.
 *
 * <p>What nobody ends is forgotten with the place. Guarded by itself.
 */
final class ClientPlaces {

    private static final int SWEEP_EVERY = 4_096;

    /** Stands for an attempt between two owner tokens. */
    private static final Object NEXT = new Object();

    private final LockRuntime runtime;
    private final Map<LockName, Map<Object, Long>> keptUntilAtNanos = new HashMap<>();
    private int entered;

    ClientPlaces(LockRuntime runtime) {
        this.runtime = runtime;
    }

    /** The attempt asks to be woken, for so long. Whether it had not before. */
    synchronized boolean enter(LockName name, OwnerToken owner, long placeNanos) {
        long nowNanos = runtime.nanoTime();
        if (++entered % SWEEP_EVERY == 0) {
            keptUntilAtNanos.values().removeIf(places -> isEmpty(places, nowNanos));
        }
        Map<Object, Long> places = keptUntilAtNanos.computeIfAbsent(name, missing -> new HashMap<>(2));
        places.remove(NEXT);
        return places.put(owner, nowNanos + placeNanos) == null;
    }

    /** The attempt goes on under another owner token, which it has not told yet. */
    synchronized void supersede(LockName name, OwnerToken owner) {
        keptUntilAtNanos.computeIfPresent(name, (n, places) -> {
            Long until = places.remove(owner);
            if (until != null) {
                places.put(NEXT, until);
            }
            return places;
        });
    }

    /** The attempt is over, or was not asked to wait. */
    synchronized void leave(LockName name, OwnerToken owner) {
        keptUntilAtNanos.computeIfPresent(name, (n, places) -> {
            places.remove(owner);
            return places.isEmpty() ? null : places;
        });
    }

    /** Whether any attempt for this lock is left. */
    synchronized boolean isKept(LockName name) {
        Map<Object, Long> places = keptUntilAtNanos.get(name);
        return places != null && !isEmpty(places, runtime.nanoTime());
    }

    private static boolean isEmpty(Map<Object, Long> places, long nowNanos) {
        for (Iterator<Long> until = places.values().iterator(); until.hasNext(); ) {
            if (nowNanos - until.next() >= 0) {
                until.remove();
            }
        }
        return places.isEmpty();
    }
}
