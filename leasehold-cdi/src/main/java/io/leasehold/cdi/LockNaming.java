package io.leasehold.cdi;

import io.leasehold.LockName;
import io.leasehold.spi.method.LockKind;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The names of the locks of one method: a template, and the paths that fill it.
 *
 * <p>Immutable; any thread may use it.
 */
final class LockNaming {

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{[^}]*}");

    /**
     * Whether a class does not define the text of its objects: then each object would be a lock of its own, and exclude
     * nothing.
     */
    private static final ClassValue<Boolean> NAMELESS = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            try {
                return type.getMethod("toString").getDeclaringClass() == Object.class;
            } catch (NoSuchMethodException e) {
                return false;
            }
        }
    };

    private final Method method;
    private final String template;
    private final int placeholders;
    private final LockKind kind;

    private final List<KeyPath> keys;
    /** The names, if they do not depend on the call. */
    private final @Nullable List<LockName> constant;

    /**
     * Creates the naming of a method.
     *
     * @param name the template, empty for the default
     * @param kind what a call takes of each name
     * @throws LockedUsageException if a key has no place in the name, or the name has a placeholder without a key
     */
    LockNaming(Method method, String name, LockKind kind, List<KeyPath> keys) {
        this.method = method;
        this.kind = kind;
        this.template = !name.isEmpty()
                ? name
                : method.getDeclaringClass().getName() + "." + method.getName() + (keys.isEmpty() ? "" : ":{key}");
        this.placeholders = (int) PLACEHOLDER.matcher(template).results().count();
        this.keys = keys;
        refuseMisfit();
        this.constant = keys.isEmpty() ? List.of(nameWithoutKey()) : null;
    }

    private LockName ofKind(LockName name) {
        return kind.of(name);
    }

    private void refuseMisfit() {
        if (keys.isEmpty() && placeholders > 0) {
            throw LockedUsageException.of(
                    method,
                    "has the name \"" + template + "\" and no key for its placeholder",
                    "Write key = \"parameter\" or @LockKey on a parameter, or a name without {}");
        }
        if (!keys.isEmpty() && placeholders == 0) {
            throw LockedUsageException.of(
                    method,
                    "has a key, and the name \"" + template + "\" has no place for it",
                    "Write name = \"" + template + ":{}\"");
        }
        if (placeholders > 1 && keys.size() != placeholders) {
            throw LockedUsageException.of(
                    method,
                    "has " + keys.size() + " key(s) for the " + placeholders + " placeholders of \"" + template + "\"",
                    "Write one key for each placeholder, or one placeholder that each key fills");
        }
    }

    private LockName nameWithoutKey() {
        try {
            return ofKind(LockName.of(template));
        } catch (IllegalArgumentException e) {
            throw LockedUsageException.of(method, "has an invalid name: " + e.getMessage(), "Write another name");
        }
    }

    /** The kind of lock that a call takes. */
    LockKind kind() {
        return kind;
    }

    /** The names of the locks of every call, or null if they depend on the call. */
    @Nullable
    List<LockName> constant() {
        return constant;
    }

    /** Whether each call has several locks, regardless of its arguments. */
    boolean isAlwaysSeveral() {
        return placeholders == 1 && keys.size() > 1;
    }

    /**
     * The names of the locks of one call.
     *
     * @throws IllegalArgumentException if a key is null, blank or an empty collection, or cannot be read
     */
    List<LockName> of(Object[] arguments) {
        if (constant != null) {
            return constant;
        }
        if (placeholders > 1) {
            return List.of(ofKind(LockName.of(
                    template,
                    keys.stream().map(key -> part(key, value(key, arguments))).toArray())));
        }
        List<LockName> names = new ArrayList<>(keys.size());
        for (KeyPath key : keys) {
            for (Object part : parts(key, value(key, arguments))) {
                names.add(ofKind(LockName.of(template, part(key, part))));
            }
        }
        return names;
    }

    private Collection<?> parts(KeyPath key, Object value) {
        Collection<?> parts = value instanceof Collection<?> several
                ? several
                : value.getClass().isArray()
                        ? IntStream.range(0, Array.getLength(value))
                                .mapToObj(i -> Array.get(value, i))
                                .toList()
                        : List.of(value);
        if (parts.isEmpty()) {
            throw unusable(key, "is an empty collection", null);
        }
        return parts;
    }

    private String part(KeyPath key, @Nullable Object value) {
        if (value == null) {
            throw unusable(key, "is null", null);
        }
        if (value instanceof Collection<?> || value.getClass().isArray()) {
            throw unusable(key, "has several values, but each key fills one placeholder", null);
        }
        if (NAMELESS.get(value.getClass())) {
            throw unusable(
                    key, "is a " + value.getClass().getName() + ", whose text differs from object to object", null);
        }
        String text = value.toString();
        if (text.isBlank()) {
            throw unusable(key, "is blank", null);
        }
        return text;
    }

    private Object value(KeyPath key, Object[] arguments) {
        Object value;
        try {
            value = key.value(arguments);
        } catch (InvocationTargetException e) {
            throw unusable(key, "cannot be read: " + e.getTargetException(), e.getTargetException());
        }
        if (value == null) {
            throw unusable(key, "is null", null);
        }
        return value;
    }

    private IllegalArgumentException unusable(KeyPath key, String why, @Nullable Throwable cause) {
        return new IllegalArgumentException(
                LockedUsageException.shown(method) + ": the key \"" + key.text() + "\" " + why
                        + "; the method has not run, since the wrong lock would guard it",
                cause);
    }
}
