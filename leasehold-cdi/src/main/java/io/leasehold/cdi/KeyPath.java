package io.leasehold.cdi;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A path from the arguments of a call to a value: a parameter, and the steps that are read from it. The steps are
 * determined once, by the declared types.
 *
 * @param text the path as it was written
 * @param parameter the position of its parameter
 * @param steps methods without parameters, each of the type that the previous step returns
 */
record KeyPath(String text, int parameter, List<Method> steps) {

    /**
     * Parses a path whose first part is the name of a parameter.
     *
     * @throws LockedUsageException if it names no parameter, or a step that its type does not have
     */
    static KeyPath named(Method method, String text) {
        String[] parts = text.strip().split("\\.", -1);
        Parameter[] parameters = method.getParameters();
        for (int i = 0; i < parameters.length; i++) {
            if (parameters[i].isNamePresent() && parameters[i].getName().equals(parts[0])) {
                return of(method, text, i, List.of(parts).subList(1, parts.length));
            }
        }
        throw parameters.length > 0 && !parameters[0].isNamePresent()
                ? LockedUsageException.of(
                        method,
                        "has the key \"" + text + "\", and its class was compiled without parameter names",
                        "Compile with -parameters, or write @LockKey on the parameter")
                : LockedUsageException.of(
                        method,
                        "has the key \"" + text + "\", and " + parts[0] + " is not one of its parameters "
                                + Arrays.stream(parameters)
                                        .map(Parameter::getName)
                                        .toList(),
                        "Name one of them, such as key = \"id\" or key = \"order.id\"");
    }

    /** Parses a path that starts at a parameter with {@link LockKey}. */
    static KeyPath from(Method method, int parameter, String path) {
        String name = method.getParameters()[parameter].getName();
        return path.isBlank()
                ? new KeyPath(name, parameter, List.of())
                : of(method, name + "." + path, parameter, List.of(path.strip().split("\\.", -1)));
    }

    private static KeyPath of(Method method, String text, int parameter, List<String> names) {
        List<Method> steps = new ArrayList<>();
        Class<?> type = method.getParameterTypes()[parameter];
        for (String name : names) {
            Method step = step(type, name);
            if (step == null) {
                throw LockedUsageException.of(
                        method,
                        "has the key \"" + text + "\", and " + type.getSimpleName() + " has no " + name
                                + " that can be read",
                        "Name a component of a record, a getter or a public method without parameters");
            }
            steps.add(step);
            type = step.getReturnType();
        }
        return new KeyPath(text, parameter, List.copyOf(steps));
    }

    private static @Nullable Method step(Class<?> type, String name) {
        if (name.isBlank()) {
            return null;
        }
        String capital = name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1);
        for (String candidate : List.of("get" + capital, "is" + capital, name)) {
            try {
                Method found = type.getMethod(candidate);
                if (found.getReturnType() != void.class && !isOfEveryObject(candidate) && found.trySetAccessible()) {
                    return found;
                }
            } catch (NoSuchMethodException e) {
                // or by its getter's name
            }
        }
        return null;
    }

    /**
     * Whether every object has this property, such as its class or its hash code, which does not identify the object.
     */
    private static boolean isOfEveryObject(String name) {
        return Arrays.stream(Object.class.getMethods())
                .anyMatch(one -> one.getName().equals(name));
    }

    /**
     * The value at the end of the path, or null if a step returns null or an empty {@code Optional}.
     *
     * @throws InvocationTargetException if a step throws
     */
    @Nullable
    Object value(Object[] arguments) throws InvocationTargetException {
        Object value = present(arguments[parameter]);
        for (Method step : steps) {
            if (value == null) {
                return null;
            }
            try {
                value = present(step.invoke(value));
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e); // it was made accessible
            }
        }
        return value;
    }

    private static @Nullable Object present(@Nullable Object value) {
        return value instanceof Optional<?> optional ? optional.orElse(null) : value;
    }
}
