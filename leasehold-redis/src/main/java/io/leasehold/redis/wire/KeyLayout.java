package io.leasehold.redis.wire;

import io.leasehold.LockName;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a lock, from a template in which {@code *} stands for the name. The default is {@code lock:{*}}; the
 * shortest template is {@code *}, the name itself.
 *
 * <p>The <i>tag</i> of a key is the text between its first opening brace and the next closing one, if that text is not
 * empty. The slot of a key is the slot of its tag, or of the whole key if it has no tag. Side keys share the slot of
 * the lock. If the lock key has a tag, they append to it ({@code lock:{x}:fence}); else they use it as their tag
 * (<code>&#123;x&#125;:fence</code>).
 *
 * <p>In the form <code>&#123;*&#125;</code> a leading <code>&#125;</code> of a name becomes {@code %7D}, and a leading
 * {@code %} becomes {@code %25}. Thus the name is always the tag, and no two names share a key. No other character is
 * escaped. The other forms use a name unchanged. They {@linkplain #refusal refuse} the few names whose key has another
 * use or could not have side keys. Immutable.
 */
public final class KeyLayout {

    private static final String STANDARD_TEMPLATE = "lock:{*}";
    private static final String MARKER = "lock:member";
    private static final String OF_READERS = ":readers";
    private static final int LONGEST_TEMPLATE = 200;

    /**
     * The parts before and after the name: without braces, with one pair around the name, or with one whole tag before
     * it.
     */
    private static final Pattern BEFORE = Pattern.compile("[^{}]*(\\{|\\{[^{}]+}[^{}]*)?");

    private static final Pattern AFTER = Pattern.compile("}?[^{}]*");
    private static final String PERMITS = "permits:";
    /** The beginning of the record of permits with another template than the standard one. */
    private static final String OTHER_PERMITS = "permits::";

    private static final List<String> RESERVED = List.of("rw:", PERMITS);
    private static final List<String> SIDE = List.of(
            ":fence", ":queued", ":behind", ":wanted", ":watchers", ":read-watchers", ":readers-wait", OF_READERS);
    private static final List<String> QUEUE = List.of(":queued", ":behind", ":wanted");
    private static final KeyLayout STANDARD = of(STANDARD_TEMPLATE);

    private final String before;
    private final String after;
    private final boolean around;

    private KeyLayout(String before, String after) {
        this.before = before;
        this.after = after;
        this.around = before.endsWith("{");
    }

    /** The layout {@code lock:{*}}. */
    public static KeyLayout standard() {
        return STANDARD;
    }

    /**
     * The layout of a template.
     *
     * @throws IllegalArgumentException if the template does not have exactly one {@code *}; if it has braces that are
     *     neither around the {@code *} nor one tag before it; if it begins like the keys of another kind of lock; or if
     *     it would make every lock a side key
     */
    public static KeyLayout of(String template) {
        int star = template.indexOf('*');
        if (star < 0 || template.indexOf('*', star + 1) >= 0) {
            throw refused(template, "needs exactly one *, where the name goes");
        }
        String before = template.substring(0, star);
        String after = template.substring(star + 1);
        if (template.length() > LONGEST_TEMPLATE || template.codePoints().anyMatch(KeyLayout::isNoKeyCharacter)) {
            throw refused(template, "may have up to " + LONGEST_TEMPLATE + " characters, without blanks and controls");
        }
        if (!BEFORE.matcher(before).matches()
                || !AFTER.matcher(after).matches()
                || before.endsWith("{") != after.startsWith("}")) {
            throw refused(template, "may have braces around the *, or one {tag} before it");
        }
        for (String reserved : RESERVED) {
            if (before.startsWith(reserved)) {
                throw refused(template, "must not begin with " + reserved + ", which is for another kind of lock");
            }
        }
        for (String side : SIDE) {
            if (after.endsWith(side)) {
                throw refused(template, "must not end with " + side + ", which is for side keys");
            }
        }
        return new KeyLayout(before, after);
    }

    private static boolean isNoKeyCharacter(int c) {
        return Character.isISOControl(c) || Character.isWhitespace(c);
    }

    private static String shown(String template) {
        return template.codePoints()
                .limit(LONGEST_TEMPLATE)
                .map(c -> Character.isISOControl(c) ? '?' : c)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    private static IllegalArgumentException refused(String template, String rule) {
        return new IllegalArgumentException("key template \"" + shown(template) + "\" " + rule + "; write for example "
                + STANDARD_TEMPLATE + ", app:{*} or *");
    }

    /**
     * The lock key, whose value is the hold.
     *
     * @throws IllegalArgumentException if this name cannot be used with the template: see {@link #refusal}
     */
    public String lock(LockName name) {
        String key = key(name);
        String reason = conflict(key);
        if (reason != null) {
            throw new IllegalArgumentException(refusal(name, key, reason));
        }
        return name.isPermits() ? permits(key) : key;
    }

    /** The key of the record of permits of a name whose exclusive lock has this key; it shares its slot. */
    private String permits(String lockKey) {
        if (equals(STANDARD)) {
            return PERMITS + lockKey.substring(before.length() - 1);
        }
        return OTHER_PERMITS + (isTagged(lockKey, lockKey.length()) ? lockKey : "{" + lockKey + "}");
    }

    /**
     * The keys of permits, in the order in which {@code permits_acquire.lua} and {@code permits_change.lua} expect
     * them: the record, the queue, and
     * the exclusive lock of the same name with its fence.
     */
    public String[] allOfPermits(LockName permits) {
        String record = lock(permits);
        String lock = key(permits);
        return new String[] {record, queued(record), behind(record), wanted(record), lock, fence(lock)};
    }

    /** The first of these keys: the record and the queue. */
    public String[] keysOfPermits(LockName permits) {
        String record = lock(permits);
        return new String[] {record, queued(record), behind(record), wanted(record)};
    }

    /** The name of the permits whose record has this key, or null if it is not such a key. */
    public @Nullable LockName permitsOf(String key) {
        if (!key.startsWith(PERMITS)) {
            return null;
        }
        boolean standard = equals(STANDARD);
        String rest = key.substring(Math.min(key.length(), (standard ? PERMITS : OTHER_PERMITS).length()));
        boolean bare = !standard && rest.startsWith("{") && rest.endsWith("}");
        List<String> locks = standard
                ? List.of(before.substring(0, before.length() - 1) + rest)
                : bare ? List.of(rest, rest.substring(1, rest.length() - 1)) : List.of(rest);
        for (String lock : locks) {
            LockName name = nameOf(lock);
            if (name != null && permits(lock).equals(key)) {
                return name.asPermits();
            }
        }
        return null;
    }

    /** Whether permits have this key: for their record, or for its queue. */
    public boolean isOfPermits(String key) {
        return permitsOf(key) != null
                || QUEUE.stream()
                        .anyMatch(side -> key.endsWith(side)
                                && permitsOf(key.substring(0, key.length() - side.length())) != null);
    }

    /** The name whose lock, readers or permits have this key, or null if it is the key of none of them. */
    public @Nullable LockName holdOf(String key) {
        LockName name = nameOf(key);
        if (name != null) {
            return name;
        }
        String lock = key.endsWith(OF_READERS) ? lockBeside(key) : null;
        LockName shared = lock == null ? null : nameOf(lock);
        return shared == null ? permitsOf(key) : shared.asRead();
    }

    /** The key that names a hold in messages: {@link #holdOf} reads it. */
    String named(LockName name) {
        String key = lock(name);
        return name.isRead() ? readers(key) : key;
    }

    /** A pattern for {@code SCAN} that finds every key of permits, and other keys. */
    public String permitsPattern() {
        return equals(STANDARD) ? PERMITS + "{*" : OTHER_PERMITS + "*";
    }

    /**
     * The key that a name would have, even if the name is refused. Use it only to find the server that would serve it.
     */
    public String place(LockName name) {
        return key(name);
    }

    private String key(LockName name) {
        return before + (around ? escaped(name.text()) : name.text()) + after;
    }

    /** The reason why a name cannot be used with this template, for a message; null if it can. */
    public @Nullable String refusal(LockName name) {
        String key = key(name);
        String reason = conflict(key);
        return reason == null ? null : refusal(name, key, reason);
    }

    private String refusal(LockName name, String key, String reason) {
        return "lock \"" + name + "\" cannot have the key \"" + key + "\" of the template " + this + ": " + reason
                + ". Rename the lock, or use the template " + STANDARD_TEMPLATE + ", which takes every name";
    }

    private static @Nullable String conflict(String key) {
        if (!isTagged(key, key.length()) && key.indexOf('}') >= 0) {
            return "it has a } and no {tag}, so that its side keys would be in another slot of a Cluster";
        }
        if (key.startsWith("{") && key.indexOf('}') == key.length() - 1) {
            return "its side keys would be those of the key \"" + key.substring(1, key.length() - 1) + "\"";
        }
        for (String side : SIDE) {
            if (key.endsWith(side) && isTagged(key, key.length() - side.length())) {
                return "it is a side key of another lock";
            }
        }
        for (String reserved : RESERVED) {
            if (key.startsWith(OTHER_PERMITS) || (key.startsWith(reserved) && key.startsWith("{", reserved.length()))) {
                return reserved + "{…} is for another kind of lock";
            }
        }
        return isMarker(key) ? "members of a set of nodes are marked with it" : null;
    }

    /** Whether the beginning of a key with this length has a hash tag. Several times for each request, so it makes nothing. */
    private static boolean isTagged(String key, int length) {
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open);
        return close > open + 1 && close < length;
    }

    /** Whether every key of this template has a hash tag. */
    private boolean isTagged() {
        String key = before + "x" + after;
        return isTagged(key, key.length());
    }

    /** The keys of a lock at a server that is a store by itself, in the order in which the scripts expect them. */
    public static String[] allOf(String lockKey) {
        return new String[] {
            lockKey, fence(lockKey), queued(lockKey), behind(lockKey), wanted(lockKey), readers(lockKey)
        };
    }

    /** The first of these keys: enough for a lock without waiting clients. */
    public static String[] grantKeys(String lockKey) {
        return new String[] {lockKey, fence(lockKey), queued(lockKey)};
    }

    /** The keys of the queue. */
    public static String[] queueKeys(String lockKey) {
        return new String[] {queued(lockKey), behind(lockKey), wanted(lockKey)};
    }

    private static String side(String lockKey, String suffix) {
        return isTagged(lockKey, lockKey.length()) ? lockKey + suffix : "{" + lockKey + "}" + suffix;
    }

    /** The key of the largest fencing token. */
    public static String fence(String lockKey) {
        return side(lockKey, ":fence");
    }

    /** The key of the front of the queue, which exists whenever the queue is not empty. */
    public static String queued(String lockKey) {
        return side(lockKey, ":queued");
    }

    /** The key of the order of the waiters behind the front. */
    public static String behind(String lockKey) {
        return side(lockKey, ":behind");
    }

    /** The key of the requests of the waiters behind the front. */
    public static String wanted(String lockKey) {
        return side(lockKey, ":wanted");
    }

    /** The key of the clients that wait to write, which a member of a set wakes. */
    public static String watchers(String lockKey) {
        return side(lockKey, ":watchers");
    }

    /** The key of the clients that wait to read, which a member of a set wakes. */
    public static String readWatchers(String lockKey) {
        return side(lockKey, ":read-watchers");
    }

    /** The key that exists while a client waits to read at a member of a set: it needs no command of its own. */
    public static String readersWait(String lockKey) {
        return side(lockKey, ":readers-wait");
    }

    /** The key of the readers that share the lock. */
    public static String readers(String lockKey) {
        return side(lockKey, OF_READERS);
    }

    /** The key under which a client announces itself. */
    public static String client(String holderId) {
        return "lock:client:" + holderId;
    }

    /** The key that says since when a member of a set has kept its data. */
    public static String marker() {
        return MARKER;
    }

    /**
     * The same key for one slot of a Cluster, since each slot may have its own life.
     *
     * @param slotTag a text whose slot it is, or empty for a member that is one server
     */
    public static String marker(String slotTag) {
        return slotTag.isEmpty() ? marker() : marker() + ":{" + slotTag + "}";
    }

    /** Whether {@link #marker(String)} can name this key. */
    public static boolean isMarker(String key) {
        return key.equals(MARKER) || key.startsWith(MARKER + ":{");
    }

    /** The lock key that this side key belongs to, or null if it is not a side key. */
    public @Nullable String lockBeside(String key) {
        for (String side : SIDE) {
            if (key.endsWith(side)) {
                String beside = key.substring(0, key.length() - side.length());
                String bare = beside.startsWith("{") && beside.endsWith("}")
                        ? beside.substring(1, beside.length() - 1)
                        : beside;
                for (String lock : List.of(beside, bare)) {
                    if (nameOf(lock) != null && side(lock, side).equals(key)) {
                        return lock;
                    }
                }
            }
        }
        return null;
    }

    /**
     * A pattern for {@code SCAN} that finds every key of Leasehold except those of {@link #permitsPattern() permits}. If
     * the template is not the standard one, it may also find other keys.
     */
    public String scanPattern() {
        if (equals(STANDARD)) {
            return "lock:*";
        }
        return !isTagged() ? "*" : literally(before) + "*";
    }

    /** Whether all keys that {@link #scanPattern()} finds are keys of Leasehold. */
    public boolean isAlone() {
        return equals(STANDARD);
    }

    /** The name whose lock key this is, or null if it is not a lock key. */
    public @Nullable LockName nameOf(String key) {
        if (!key.startsWith(before) || !key.endsWith(after) || key.length() <= before.length() + after.length()) {
            return null;
        }
        String text = key.substring(before.length(), key.length() - after.length());
        if (around) {
            if (text.startsWith("%7D")) {
                text = "}" + text.substring(3);
            } else if (text.startsWith("%25")) {
                text = "%" + text.substring(3);
            } else if (text.startsWith("%") || text.startsWith("}")) {
                return null;
            }
        }
        try {
            LockName name = LockName.exactly(text);
            return conflict(key) == null ? name : null;
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

    /** A pattern for {@code SCAN} that finds the key of every lock whose written name matches {@code names}. */
    String keyPattern(String names) {
        return literally(before) + names + literally(after);
    }

    /** Whether the key may contain the first character of a name in escaped form. */
    boolean isEscaping() {
        return around;
    }

    /** The rights on keys that an ACL must grant for locks of every name. */
    public String keyRights() {
        String own = "~" + literally(before) + "*";
        return before.isEmpty() || isTagged() ? own : own + " ~{" + literally(before) + "*";
    }

    private static String literally(String text) {
        return text.replaceAll("[\\\\\\[\\]?*^-]", "\\\\$0");
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof KeyLayout that && before.equals(that.before) && after.equals(that.after);
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    /** The template. */
    @Override
    public String toString() {
        return before + "*" + after;
    }
}
