package io.leasehold;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The name of a lock, with the template it was made from.
 *
 * <p>A name is 1 to {@value #MAX_BYTES} bytes of UTF-8 without control characters and not blank. The template (for
 * example {@code order:{id}}) exists for metrics: the number of templates is bounded, that of names is not. Two names
 * are equal when their texts are equal and both are names of the same kind, whatever their templates and counts: an
 * exclusive lock, the readers of that lock, or {@link Permits}.
 *
 * <p>Immutable; any thread may use it.
 */
public final class LockName implements Comparable<LockName> {

    /** The largest length of a name, in bytes of UTF-8. */
    public static final int MAX_BYTES = 1024;

    /** Characters with which a part could imitate the structure of the name. */
    private static final String ESCAPED_IN_PARTS = "%:/{}";

    /** The largest number of permits of one name. */
    public static final int MAX_PERMITS = 1_000;

    private static final int EXCLUSIVE = 0;
    private static final int UNCOUNTED = -1;
    private static final int READERS = -2;

    private final String text;
    private final @Nullable String template;
    /** The number of permits, or one of the three constants above. */
    private final int permits;

    private LockName(String text, @Nullable String template) {
        this.text = checked(text);
        this.template = template;
        this.permits = EXCLUSIVE;
    }

    private LockName(LockName same, int permits) {
        this.text = same.text;
        this.template = same.template;
        this.permits = permits;
    }

    /**
     * Creates a name from a template and its parts: {@code of("order:{id}", 1001)} is {@code order:1001}.
     *
     * <p>Each part replaces one {@code {placeholder}}, from left to right. In parts the characters
     * {@code % : / { }} are percent-escaped, so that no part can change the structure of the name.
     *
     * @throws IllegalArgumentException if a part is blank, if the number of parts is not the number
     *     of placeholders, or if the result is not a valid name
     */
    public static LockName of(String template, Object... parts) {
        Objects.requireNonNull(template, "template");
        StringBuilder name = new StringBuilder(template.length() + 16);
        int used = 0;
        int from = 0;
        for (int open; (open = template.indexOf('{', from)) >= 0; ) {
            int close = template.indexOf('}', open);
            if (close < 0) {
                throw new IllegalArgumentException(
                        "lock name template \"" + template + "\" has '{' without '}'; placeholders look like {id}");
            }
            if (used == parts.length) {
                throw wrongCount(template, parts.length);
            }
            name.append(template, from, open).append(escaped(template, used, parts[used]));
            used++;
            from = close + 1;
        }
        if (used != parts.length) {
            throw wrongCount(template, parts.length);
        }
        return new LockName(name.append(template, from, template.length()).toString(), template);
    }

    /**
     * Creates a name from its exact text; it has no template, so metrics count all such names as one.
     *
     * @throws IllegalArgumentException if the text is not a valid name
     */
    public static LockName exactly(String text) {
        return new LockName(Objects.requireNonNull(text, "name"), null);
    }

    private static IllegalArgumentException wrongCount(String template, int parts) {
        return new IllegalArgumentException("lock name template \"" + template + "\" was given " + parts
                + " part(s); it needs exactly one for each {placeholder}");
    }

    private static String escaped(String template, int index, @Nullable Object part) {
        String raw = part == null ? null : part.toString();
        if (raw == null || raw.isBlank()) {
            throw new IllegalArgumentException("part " + (index + 1) + " of lock name template \"" + template + "\" is "
                    + (raw == null ? "null" : "blank") + "; a blank part would name the wrong lock");
        }
        StringBuilder out = new StringBuilder(raw.length());
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            if (ESCAPED_IN_PARTS.indexOf(c) >= 0) {
                out.append('%').append(Integer.toHexString(c).toUpperCase(Locale.ROOT));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private static String checked(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("lock name \"" + printable(text) + "\" is empty or blank");
        }
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isISOControl(c)) {
                throw new IllegalArgumentException("lock name \"" + printable(text) + "\" has the control character U+"
                        + String.format(Locale.ROOT, "%04X", (int) c) + " at index " + i
                        + "; control characters are not allowed");
            }
            if (Character.isSurrogate(c) && !isPairAt(text, i)) {
                throw new IllegalArgumentException(
                        "lock name has half a surrogate pair at index " + i + "; it is not valid Unicode");
            }
        }
        int bytes = text.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_BYTES) {
            throw new IllegalArgumentException("lock name \"" + printable(text) + "\" has " + bytes
                    + " bytes of UTF-8; at most " + MAX_BYTES + " are allowed");
        }
        return text;
    }

    private static boolean isPairAt(String text, int i) {
        return Character.isHighSurrogate(text.charAt(i))
                ? i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))
                : i > 0 && Character.isHighSurrogate(text.charAt(i - 1));
    }

    static String printable(String text) {
        StringBuilder out = new StringBuilder();
        text.codePoints()
                .limit(48)
                .forEach(c -> out.appendCodePoint(
                        Character.isISOControl(c) || (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)
                                ? '?'
                                : c));
        return text.length() > 48 ? out.append('…').toString() : out.toString();
    }

    /**
     * The {@link Permits} of this name, which are no exclusive lock: for operators and authors of stores. Callers that
     * acquire use {@link LockClient#permits}.
     */
    public LockName asPermits() {
        return new LockName(this, UNCOUNTED);
    }

    /**
     * As {@link #asPermits()}, with the number of permits that the caller expects.
     *
     * @throws IllegalArgumentException if the number is not from 1 to {@value #MAX_PERMITS}
     */
    public LockName asPermits(int count) {
        if (count < 1 || count > MAX_PERMITS) {
            throw new IllegalArgumentException("permits \"" + printable(text) + "\" were given the count " + count
                    + "; it must be from 1 to " + MAX_PERMITS);
        }
        return new LockName(this, count);
    }

    /** Whether this name is that of {@link Permits}, and not of a lock. */
    public boolean isPermits() {
        return permits != EXCLUSIVE && permits != READERS;
    }

    /**
     * The readers of the lock of this name, as requests to a store name them: for operators and authors of stores.
     * Callers that acquire use {@link LockClient#readWrite}.
     */
    public LockName asRead() {
        return new LockName(this, READERS);
    }

    /** Whether this name is that of the readers of a lock. */
    public boolean isRead() {
        return permits == READERS;
    }

    /** The exclusive lock of this name. */
    public LockName asExclusive() {
        return permits == EXCLUSIVE ? this : new LockName(this, EXCLUSIVE);
    }

    /** The number of permits that the caller expects; 0 for an exclusive lock, or if no number is given. */
    public int permitCount() {
        return Math.max(0, permits);
    }

    /** The text that names the lock at every store. */
    public String text() {
        return text;
    }

    /** The template, or null if the name was taken {@linkplain #exactly(String) exactly}. */
    public @Nullable String template() {
        return template;
    }

    @Override
    public int compareTo(LockName other) {
        int byText = text.compareTo(other.text);
        return byText != 0 ? byText : Integer.compare(kind(), other.kind());
    }

    @Override
    public boolean equals(@Nullable Object o) {
        return o instanceof LockName other && text.equals(other.text) && kind() == other.kind();
    }

    /** The kind alone, in the order of the names of one text. */
    private int kind() {
        return isPermits() ? 1 : -permits;
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** The text. */
    @Override
    public String toString() {
        return text;
    }
}
