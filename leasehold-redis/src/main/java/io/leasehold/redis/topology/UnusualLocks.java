package io.leasehold.redis.topology;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The locks that other clients wanted recently. Calls for them are sent whole, so that no round trip is wasted on a
 * common case that does not apply. A wrong entry costs one round trip at most. Safe for all threads.
 */
final class UnusualLocks {

    /** Limits the memory: with more locks the set is cleared, and each lock is discovered again. */
    static final int MAX_LOCKS = 1_024;

    private final Set<String> locks = ConcurrentHashMap.newKeySet();

    boolean isKnown(String lock) {
        return !locks.isEmpty() && locks.contains(lock);
    }

    void add(String lock) {
        if (locks.size() >= MAX_LOCKS) {
            locks.clear();
        }
        locks.add(lock);
    }

    /**
     * Reads the answer to a whole request: if it is a grant while no other client wanted the lock, removes the lock.
     */
    void heed(String lock, @Nullable List<Object> reply) {
        if (reply != null && reply.size() == 2 && isNumber(reply.get(0))) {
            locks.remove(lock);
        }
    }

    private static boolean isNumber(Object item) {
        return item instanceof String text && !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
    }
}
