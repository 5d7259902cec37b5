package io.leasehold.cdi;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The classes of the beans with locked methods, as {@link LeaseholdExtension} has found them.
 *
 * @param types the classes
 */
record LockedTypes(List<Class<?>> types) {

    private static final Set<String> NOT_INTERCEPTED =
            Set.of("jakarta.inject.Inject", "jakarta.annotation.PostConstruct", "jakarta.annotation.PreDestroy");

    /**
     * The annotation that holds for a method of a bean: its own, or that of the class of the bean, directly or by a stereotype or another
     * binding that carries it; null if there is none.
     */
    static @Nullable Locked of(Method method, Class<?> type) {
        Locked own = on(method, new HashSet<>());
        if (own != null) {
            return own;
        }
        Locked ofType = on(type, new HashSet<>());
        return ofType != null ? ofType : on(method.getDeclaringClass(), new HashSet<>());
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

    /** The methods of a class that are locked, and those that are asked to be although no interceptor can lock them. */
    static List<Method> lockedMethods(Class<?> type) {
        boolean all = on(type, new HashSet<>()) != null;
        List<Method> found = new ArrayList<>();
        for (Class<?> one : withSuperTypes(type)) {
            for (Method method : one.getDeclaredMethods()) {
                boolean asked = on(method, new HashSet<>()) != null || (all && isBusiness(method));
                if (asked && !method.isSynthetic() && found.stream().noneMatch(known -> overrides(known, method))) {
                    found.add(method);
                }
            }
        }
        return found;
    }

    /** Classes first, from the lowest on, and then their interfaces. */
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

    /** Whether a transaction of Jakarta's may begin with the method; by name, since that is not always on the class path. */
    static boolean isTransactional(Method method, Class<?> type) {
        return Stream.of(method, type, method.getDeclaringClass())
                .flatMap(element -> Stream.of(element.getAnnotations()))
                .anyMatch(annotation ->
                        annotation.annotationType().getName().equals("jakarta.transaction.Transactional"));
    }

    private static boolean isBusiness(Method method) {
        int modifiers = method.getModifiers();
        return !method.getDeclaringClass().isInterface()
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
