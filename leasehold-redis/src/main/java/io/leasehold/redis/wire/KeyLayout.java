package io.leasehold.redis.wire;

import io.leasehold.LockName;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where a lock and its side keys are: a template in which {@code *} stands for the name, {@code lock:{*}} unless another
 * one is chosen, down to {@code *}, the name itself.
 *
 * <p>The slot of a key is that of its <i>tag</i>, the text between its first opening brace and the next closing one, if
 * that is not empty, else that of the whole key. Side keys share the slot of the lock: they follow the lock key where it has a
 * tag ({@code lock:{x}:fence}), else they make it their tag (<code>&#123;x&#125;:fence</code>).
 *
 * <p>In the form <code>&#123;*&#125;</code> a name that begins with <code>&#125;</code> is written with {@code %7D}, and one that
 * begins with {@code %} with {@code %25}, so that the name is always the tag and no two names share a key. Nothing else is
 * escaped. The other forms take a name as it is, and {@linkplain #refusal refuse} the few that would share a key with
 * something else, or could have no side keys. Immutable.
 */
public final class KeyLayout {

    private static final String STANDARD_TEMPLATE = "lock:{*}";
    private static final String MARKER = "lock:member";
    private static final int LONGEST_TEMPLATE = 200;

    /** Before and after the name: no braces, or one pair around the name, or one whole tag before it. */
    private static final Pattern BEFORE = Pattern.compile("[^{}]*(\\{|\\{[^{}]+}[^{}]*)?");

    private static final Pattern AFTER = Pattern.compile("}?[^{}]*");
    private static final List<String> RESERVED = List.of("rw:", "permits:");
    private static final List<String> SIDE = List.of(":fence", ":queued", ":behind", ":wanted", ":watchers");
    private static final KeyLayout STANDARD = of(STANDARD_TEMPLATE);

    private final String before;
    private final String after;
    private final boolean around;

    private KeyLayout(String before, String after) {
        this.before = before;
        this.after = after;
        this.around = before.endsWith("{");
    }

    /** {@code lock:{*}}. */
    public static KeyLayout standard() {
        return STANDARD;
    }

    /**
     * The layout of a template.
     *
     * @throws IllegalArgumentException if it has not exactly one {@code *}, has braces in other places than around it or
     *     as one tag before it, begins like the keys of another kind of lock, or would make every lock a side key
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
     * The key whose value is the hold.
     *
     * @throws IllegalArgumentException if the template and this name make no key: see {@link #refusal}
     */
    public String lock(LockName name) {
        String refusal = refusal(name);
        if (refusal != null) {
            throw new IllegalArgumentException(refusal);
        }
        return key(name);
    }

    /** The key that a name would have, refused or not: for finding out where that would be served, and nothing else. */
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
        return reason == null
                ? null
                : "lock \"" + name + "\" cannot have the key \"" + key + "\" of the template " + this + ": " + reason
                        + ". Rename the lock, or use the template " + STANDARD_TEMPLATE + ", which takes every name";
    }

    private static @Nullable String conflict(String key) {
        String tag = tag(key);
        if (tag == null && key.indexOf('}') >= 0) {
            return "it has a } and no {tag}, so that its side keys would be in another slot of a Cluster";
        }
        if (key.startsWith("{") && key.indexOf('}') == key.length() - 1) {
            return "its side keys would be those of the key \"" + tag + "\"";
        }
        for (String side : SIDE) {
            if (key.endsWith(side) && tag(key.substring(0, key.length() - side.length())) != null) {
                return "it is a side key of another lock";
            }
        }
        for (String reserved : RESERVED) {
            if (key.startsWith(reserved + "{")) {
                return reserved + "{…} is for another kind of lock";
            }
        }
        return isMarker(key) ? "members of a set of nodes are marked with it" : null;
    }

    private static @Nullable String tag(String key) {
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open);
        return close > open + 1 ? key.substring(open + 1, close) : null;
    }

    /** The keys of a lock at a server that is a store by itself, in the order in which the scripts expect them. */
    public static String[] allOf(String lockKey) {
        return new String[] {lockKey, fence(lockKey), queued(lockKey), behind(lockKey), wanted(lockKey)};
    }

    /** The first of these keys: what a lock needs for which no client waits. */
    public static String[] grantKeys(String lockKey) {
        return new String[] {lockKey, fence(lockKey), queued(lockKey)};
    }

    /** The last of these keys: those of the queue. */
    public static String[] queueKeys(String lockKey) {
        return new String[] {queued(lockKey), behind(lockKey), wanted(lockKey)};
    }

    private static String side(String lockKey, String suffix) {
        return (tag(lockKey) == null ? "{" + lockKey + "}" : lockKey) + suffix;
    }

    /** The key of the largest fencing token. */
    public static String fence(String lockKey) {
        return side(lockKey, ":fence");
    }

    /** The key of the front of the queue, which exists whenever one is not empty. */
    public static String queued(String lockKey) {
        return side(lockKey, ":queued");
    }

    /** The key of the order of those behind the front. */
    public static String behind(String lockKey) {
        return side(lockKey, ":behind");
    }

    /** The key of what those behind the front asked for. */
    public static String wanted(String lockKey) {
        return side(lockKey, ":wanted");
    }

    /** The key of those who want to be woken at a member of a set. */
    public static String watchers(String lockKey) {
        return side(lockKey, ":watchers");
    }

    /** The key of what a client tells of itself. */
    public static String client(String holderId) {
        return "lock:client:" + holderId;
    }

    /** The key that tells since when a member of a set remembers. */
    public static String marker() {
        return MARKER;
    }

    /**
     * The same for one slot of a Cluster, each of which may have a life of its own.
     *
     * @param slotTag a text that belongs to the slot, or empty for a member that is one server
     */
    public static String marker(String slotTag) {
        return slotTag.isEmpty() ? marker() : marker() + ":{" + slotTag + "}";
    }

    /** Whether this key is one of those that {@link #marker(String)} names. */
    public static boolean isMarker(String key) {
        return key.equals(MARKER) || key.startsWith(MARKER + ":{");
    }

    /** The key of the lock that this key stands beside, or null if it stands beside none. */
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

    /** A pattern for {@code SCAN} that finds every key of ours, and where names stand alone others as well. */
    public String scanPattern() {
        if (equals(STANDARD)) {
            return "lock:*";
        }
        return tag(before + "x" + after) == null ? "*" : literally(before) + "*";
    }

    /** Whether all keys that {@link #scanPattern()} finds are ours. */
    public boolean isAlone() {
        return equals(STANDARD);
    }

    /** The name whose lock key this is, or null if it is no lock key. */
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

    /** A pattern for {@code SCAN} that finds the key of every lock whose name, as it is written, matches {@code names}. */
    String keyPattern(String names) {
        return literally(before) + names + literally(after);
    }

    /** Whether the first character of a name may be written differently in its key. */
    boolean isEscaping() {
        return around;
    }

    /** The rights on keys that an ACL must give, so that locks of every name can be used. */
    public String keyRights() {
        String own = "~" + literally(before) + "*";
        return before.isEmpty() || tag(before + "x" + after) != null ? own : own + " ~{" + literally(before) + "*";
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
