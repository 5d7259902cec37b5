package io.leasehold.cdi;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The classes of the beans with locked methods, as {@link LeaseholdExtension} has found them.
 *
 * @param types the classes
 * @param produced the products of producers that have locked methods, each as the beginning of a refusal
 */
record LockedTypes(List<Class<?>> types, List<String> produced) {

    private static final Set<String> NOT_INTERCEPTED =
            Set.of("jakarta.inject.Inject", "jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    /**
     * The annotation that applies to a method of a bean: its own, or that of the bean's class, directly or by a
     * stereotype or another binding that carries it; null if there is none.
     */
    static @Nullable Locked of(Method method, Class<?> type) {
        Locked found = on(method);
        // A container may create a class for the bean, which lacks annotations that are not inherited.
        for (Class<?> one = type; found == null && one != null; one = one.getSuperclass()) {
            found = on(one);
        }
        return found != null ? found : on(method.getDeclaringClass());
    }

    /** The annotation of an element itself, or of one of its annotations; null if there is none. */
    static @Nullable Locked on(AnnotatedElement element) {
        return on(element, new HashSet<>());
    }

    private static @Nullable Locked on(AnnotatedElement element, Set<Class<?>> seen) {
        Locked direct = element.getAnnotation(Locked.class);
        if (direct != null) {
            return direct;
        }
        for (Annotation annotation : element.getAnnotations()) {
            if (seen.add(annotation.annotationType())) {
                Locked carried = on(annotation.annotationType(), seen);
                if (carried != null) {
                    return carried;
                }
            }
        }
        return null;
    }

    /**
     * The locked methods of a class, including those that no interceptor can lock.
     *
     * @throws LockedUsageException if a supertype has an annotation that has no effect
     */
    static List<Method> lockedMethods(Class<?> type) {
        boolean all = on(type) != null;
        List<Method> found = new ArrayList<>();
        Map<Method, Method> below = new LinkedHashMap<>();
        for (Class<?> one : withSuperTypes(type)) {
            if (one.isInterface() && !all && on(one) != null) {
                throw ofInterface(one, type);
            }
            for (Method method : one.getDeclaredMethods()) {
                boolean asked = on(method) != null;
                if (!method.isSynthetic() && (asked || (all && isBusiness(method)))) {
                    Method override = overridden(method, below);
                    Method losing = asked && override != null && !isLocked(override, all) ? override : null;
                    if (losing != null && !one.isInterface()) {
                        throw notInherited(losing, method);
                    }
                    if ((override == null || losing != null)
                            && found.stream().noneMatch(known -> overrides(known, method))) {
                        found.add(method);
                    }
                }
            }
            if (!one.isInterface()) {
                below.putAll(overriding(one));
            }
        }
        return found;
    }

    private static boolean isLocked(Method method, boolean all) {
        return on(method) != null || (all && isBusiness(method));
    }

    private static LockedUsageException ofInterface(Class<?> one, Class<?> type) {
        return new LockedUsageException(
                "@Locked on the interface " + one.getSimpleName() + " does not apply to the bean "
                        + type.getSimpleName()
                        + ", since CDI does not read annotations of interfaces: its methods would run without the lock",
                "Write @Locked on the class " + type.getSimpleName());
    }

    private static LockedUsageException notInherited(Method override, Method method) {
        return new LockedUsageException(
                override.getDeclaringClass().getSimpleName() + "." + override.getName() + " overrides the "
                        + LockedUsageException.shown(method)
                        + ", whose annotation CDI does not inherit: it would run without the lock",
                "Write @Locked on the overriding method");
    }

    /**
     * Collects the methods that may override methods of superclasses: each possible signature of a call, with the
     * method whose body runs. A method with a narrower parameter has a second signature, that of its bridge.
     */
    private static Map<Method, Method> overriding(Class<?> type) {
        Map<Method, Method> bodies = new LinkedHashMap<>();
        for (Method method : type.getDeclaredMethods()) {
            if (isOverridable(method)) {
                body(method).ifPresent(body -> bodies.put(method, body));
            }
        }
        return bodies;
    }

    /**
     * The method whose body runs; none for a bridge to a superclass, which exists for a public method of a non-public
     * class.
     */
    private static Optional<Method> body(Method method) {
        return !method.isBridge()
                ? Optional.of(method)
                : Stream.of(method.getDeclaringClass().getDeclaredMethods())
                        .filter(one -> !one.isBridge() && one.getName().equals(method.getName()))
                        .filter(one -> accepts(method.getParameterTypes(), one.getParameterTypes()))
                        .findFirst();
    }

    private static boolean accepts(Class<?>[] wide, Class<?>[] narrow) {
        return wide.length == narrow.length
                && IntStream.range(0, wide.length).allMatch(i -> wide[i].isAssignableFrom(narrow[i]));
    }

    private static @Nullable Method overridden(Method method, Map<Method, Method> below) {
        return !isOverridable(method)
                ? null
                : below.entrySet().stream()
                        .filter(one -> overrides(one.getKey(), method))
                        .map(Map.Entry::getValue)
                        .findFirst()
                        .orElse(null);
    }

    private static boolean isOverridable(Method method) {
        return !Modifier.isPrivate(method.getModifiers()) && !Modifier.isStatic(method.getModifiers());
    }

    /** The classes, starting with the most derived one, and then their interfaces. */
    private static Set<Class<?>> withSuperTypes(Class<?> type) {
        Set<Class<?>> all = new LinkedHashSet<>();
        for (Class<?> one = type; one != null && one != Object.class; one = one.getSuperclass()) {
            all.add(one);
        }
        for (Class<?> one : List.copyOf(all)) {
            for (Class<?> implemented : one.getInterfaces()) {
                all.addAll(withSuperTypes(implemented));
            }
        }
        return all;
    }

    /**
     * Whether a Jakarta transaction may begin with the method; checked by name, since the annotation is not always on
     * the class path.
     */
    static boolean isTransactional(Method method, Class<?> type) {
        return Stream.of(method, type, method.getDeclaringClass())
                .flatMap(element -> Stream.of(element.getAnnotations()))
                .anyMatch(annotation ->
                        annotation.annotationType().getName().equals("jakarta.transaction.Transactional"));
    }

    private static boolean isBusiness(Method method) {
        int modifiers = method.getModifiers();
        return (!method.getDeclaringClass().isInterface() || method.isDefault())
                && !Modifier.isPrivate(modifiers)
                && !Modifier.isStatic(modifiers)
                && !Modifier.isFinal(modifiers)
                && Stream.of(method.getAnnotations())
                        .map(annotation -> annotation.annotationType().getName())
                        .noneMatch(NOT_INTERCEPTED::contains);
    }

    private static boolean overrides(Method one, Method other) {
        return one.getName().equals(other.getName())
                && List.of(one.getParameterTypes()).equals(List.of(other.getParameterTypes()));
    }
}
