package io.leasehold.redis.topology;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The locks that others wanted lately: what is asked about them is asked whole, so that no round trip is lost to a common case that is
 * not there. A memory that is wrong costs one, and no more. Safe for all threads.
 */
final class UnusualLocks {

    /** So much memory and no more; with more of them each is found out anew. */
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

    /** The answer to a whole request: where it is that of a grant while nobody else wanted the lock, the lock is as others are. */
    void heed(String lock, @Nullable List<Object> reply) {
        if (reply != null && reply.size() == 2 && isNumber(reply.get(0))) {
            locks.remove(lock);
        }
    }

    private static boolean isNumber(Object item) {
        return item instanceof String text && !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
    }
}
