package io.leasehold.testkit.tck;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives each test its {@link TckBench}, refuses classes that omit tests, and prints the gated tests.
 *
 * <p>For JUnit; do not call its methods.
 */
public final class TckExtension implements BeforeAllCallback, ParameterResolver, AfterEachCallback, AfterAllCallback {

    private static final Namespace HERE = Namespace.create(TckExtension.class);

    /** Called by JUnit. */
    public TckExtension() {}

    @Override
    public void beforeAll(ExtensionContext context) {
        Class<?> tests = context.getRequiredTestClass();
        if (tests.isAnnotationPresent(Disabled.class)) {
            throw new IllegalStateException(tests.getName() + " disables the TCK");
        }
        List<String> overridden = Arrays.stream(tests.getMethods())
                .filter(method -> !method.getDeclaringClass().isInterface())
                .filter(method -> isTckTest(tests, method))
                .map(Method::getName)
                .toList();
        if (!overridden.isEmpty()) {
            throw new IllegalStateException(
                    tests.getName() + " overrides tests of the TCK, which no backend may: " + overridden);
        }
        context.getStore(HERE).put(Gated.class, new Gated());
    }

    private static boolean isTckTest(Class<?> tests, Method method) {
        return interfacesOf(tests)
                .flatMap(i -> Arrays.stream(i.getDeclaredMethods()))
                .anyMatch(declared -> declared.isAnnotationPresent(Test.class)
                        && declared.getName().equals(method.getName())
                        && Arrays.equals(declared.getParameterTypes(), method.getParameterTypes()));
    }

    private static Stream<Class<?>> interfacesOf(Class<?> type) {
        Stream<Class<?>> own =
                Arrays.stream(type.getInterfaces()).flatMap(i -> Stream.concat(Stream.of(i), interfacesOf(i)));
        Class<?> parent = type.getSuperclass();
        return parent == null ? own : Stream.concat(own, interfacesOf(parent));
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TckBench.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        StoreFixture fixture = ((SharesStore) context.getRequiredTestInstance()).fixture();
        String test = context.getRequiredTestMethod().getName();
        Gated gated = context.getStore(HERE).computeIfAbsent(Gated.class);
        TckBench bench = new TckBench(fixture, test, gated);
        context.getStore(HERE).put(TckBench.class, bench);
        return bench;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        TckBench bench = context.getStore(HERE).remove(TckBench.class, TckBench.class);
        if (bench != null) {
            bench.close();
        }
    }

    @Override
    @SuppressWarnings("SystemOut")
    public void afterAll(ExtensionContext context) {
        Gated gated = context.getStore(HERE).get(Gated.class, Gated.class);
        if (gated != null && !gated.isEmpty()) {
            System.out.println(gated.line());
        }
    }
}
