package io.leasehold.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Hints for a native image about beans with {@link Locked} methods: the members that keys read, and fallbacks. Spring
 * creates it from {@code META-INF/spring/aot.factories}.
 */
final class LockedBeanHints implements BeanRegistrationAotProcessor {

    LockedBeanHints() {}

    @Override
    public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
        Class<?> type = ClassUtils.getUserClass(bean.getBeanClass());
        List<Method> locked = new ArrayList<>();
        ReflectionUtils.doWithMethods(
                type, locked::add, method -> AnnotatedElementUtils.hasAnnotation(method, Locked.class));
        return locked.isEmpty()
                ? null
                : (context, code) -> {
                    ReflectionHints hints = context.getRuntimeHints().reflection();
                    hints.registerType(LockNaming.Root.class, MemberCategory.INVOKE_PUBLIC_METHODS);
                    locked.forEach(method -> register(hints, type, method));
                };
    }

    private static void register(ReflectionHints hints, Class<?> type, Method method) {
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(method, Locked.class);
        if (locked == null) {
            return;
        }
        if (locked.key().length > 0) {
            hints.registerType(type, MemberCategory.INVOKE_PUBLIC_METHODS);
            for (Class<?> parameter : method.getParameterTypes()) {
                hints.registerType(parameter, MemberCategory.INVOKE_PUBLIC_METHODS);
            }
            new BindingReflectionHintsRegistrar().registerReflectionHints(hints, method.getGenericParameterTypes());
        }
        ReflectionUtils.doWithMethods(
                type,
                fallback -> hints.registerMethod(fallback, ExecutableMode.INVOKE),
                fallback -> fallback.getName().equals(locked.fallback()));
    }
}
