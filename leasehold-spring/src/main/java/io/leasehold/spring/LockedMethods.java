package io.leasehold.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.MethodClassKey;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The methods with {@link Locked}, each read once: matches them for the advisor, and keeps the results.
 *
 * <p>Any thread may use it.
 */
final class LockedMethods extends StaticMethodMatcherPointcut {

    private final LockedMethodReader reader;
    private final ConcurrentMap<MethodClassKey, Optional<LockedMethod>> byMethod = new ConcurrentHashMap<>();
    private final Set<Class<?>> classes = ConcurrentHashMap.newKeySet();

    LockedMethods(LockedMethodReader reader) {
        this.reader = reader;
    }

    @Override
    public ClassFilter getClassFilter() {
        return type -> AnnotationUtils.isCandidateClass(type, Locked.class);
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        return of(method, targetClass) != null;
    }

    /** The annotation of a method, or null if it has none. */
    @Nullable
    LockedMethod of(Method method, @Nullable Class<?> targetClass) {
        if (method.getDeclaringClass() == Object.class) {
            return null;
        }
        MethodClassKey key = new MethodClassKey(method, targetClass);
        Optional<LockedMethod> known = byMethod.get(key);
        if (known == null) {
            known = Optional.ofNullable(read(method, targetClass));
            byMethod.put(key, known);
        }
        return known.orElse(null);
    }

    private @Nullable LockedMethod read(Method method, @Nullable Class<?> targetClass) {
        Method specific = AopUtils.getMostSpecificMethod(method, targetClass);
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(specific, Locked.class);
        if (locked == null) {
            return null;
        }
        if (targetClass != null) {
            classes.add(targetClass);
        }
        return reader.read(specific, locked);
    }

    /** Whether the advisor was asked about a locked method of this class. */
    boolean isLocked(Class<?> targetClass) {
        return classes.contains(targetClass);
    }

    /** All locked methods of a class, with those that no proxy can lock. */
    List<LockedMethod> allOf(Class<?> targetClass) {
        List<LockedMethod> all = new ArrayList<>();
        ReflectionUtils.doWithMethods(
                targetClass,
                method -> {
                    LockedMethod locked = of(method, targetClass);
                    if (locked != null
                            && all.stream().noneMatch(one -> one.method().equals(locked.method()))) {
                        all.add(locked);
                    }
                },
                ReflectionUtils.USER_DECLARED_METHODS);
        return all;
    }
}
