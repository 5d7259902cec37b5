package io.leasehold.redis.wire;

import io.leasehold.LockName;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a lock: {@code lock:{name}} and its side keys, all in one Cluster slot.
 *
 * <p>The slot is that of the text between the first brace and the first closing one, which must not be empty: a name
 * that begins with <code>&#125;</code> is therefore written with {@code %7D}, and one that begins with {@code %}
 * with {@code %25}, so that no two names share a key. Nothing else is escaped.
 */
public final class KeyLayout {

    private static final String PREFIX = "lock:{";
    private static final String SUFFIX = "}";

    private KeyLayout() {}

    /** The key whose value is the hold. */
    public static String lock(LockName name) {
        return PREFIX + escaped(name.text()) + SUFFIX;
    }

    /** The key of the largest fencing token. */
    public static String fence(String lockKey) {
        return lockKey + ":fence";
    }

    /** The key that exists whenever the queue is not empty. */
    public static String queued(String lockKey) {
        return lockKey + ":queued";
    }

    /** The key of the queue. */
    public static String waiters(String lockKey) {
        return lockKey + ":waiters";
    }

    /** The key of what the waiters in the queue have asked for. */
    public static String asked(String lockKey) {
        return lockKey + ":asked";
    }

    /** The key of those who want to be woken at a member of a set. */
    public static String watchers(String lockKey) {
        return lockKey + ":watchers";
    }

    /** The key that tells since when a member of a set remembers. */
    public static String marker() {
        return "lock:member";
    }

    /**
     * The same for one slot of a Cluster, each of which may have a life of its own.
     *
     * @param slotTag a text that belongs to the slot, or empty for a member that is one server
     */
    public static String marker(String slotTag) {
        return slotTag.isEmpty() ? marker() : marker() + ":{" + slotTag + "}";
    }

    /** The name whose lock key this is, or null if it is no lock key. */
    public static @Nullable LockName nameOf(String key) {
        if (!key.startsWith(PREFIX) || !key.endsWith(SUFFIX) || key.length() <= PREFIX.length()) {
            return null;
        }
        String text = key.substring(PREFIX.length(), key.length() - SUFFIX.length());
        if (text.startsWith("%7D")) {
            text = "}" + text.substring(3);
        } else if (text.startsWith("%25")) {
            text = "%" + text.substring(3);
        } else if (text.startsWith("%") || text.startsWith("}")) {
            return null;
        }
        try {
            return LockName.exactly(text);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static String escaped(String text) {
        return switch (text.charAt(0)) {
            case '}' -> "%7D" + text.substring(1);
            case '%' -> "%25" + text.substring(1);
            default -> text;
        };
    }
}
