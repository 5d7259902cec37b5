package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.jspecify.annotations.Nullable;

/**
 * The scope of a body in a {@code ScopedValue}, where the JDK has them (from 25 on): threads that the body forks in a structured task scope inherit it.
 * By method handles, since this is compiled for an older JDK.
 */
final class InheritedScope {

    private static final @Nullable Handles HANDLES = Runtime.version().feature() >= 25 ? Handles.found() : null;

    private InheritedScope() {}

    /** The innermost body of this thread, or the one that it inherits; null where there is none. */
    static @Nullable LeaseScope current() {
        LeaseScope own = LeaseScope.current();
        return own != null ? own : inherited();
    }

    private static @Nullable LeaseScope inherited() {
        Handles handles = HANDLES;
        try {
            return handles != null && (boolean) handles.isBound.invokeExact(handles.value)
                    ? (LeaseScope) handles.get.invokeExact(handles.value)
                    : null;
        } catch (Throwable e) {
            throw unexpected(e);
        }
    }

    /** Runs a body, for whose time the scope is inherited. */
    static @Nullable Object run(LeaseScope scope, LockCall.Body body) throws Throwable {
        Handles handles = HANDLES;
        if (handles == null) {
            return body.run(scope.hold());
        }
        Run run = new Run(scope, body);
        handles.run.invokeExact(handles.where.invokeExact(handles.value, (Object) scope), (Runnable) run);
        if (run.thrown != null) {
            throw run.thrown;
        }
        return run.result;
    }

    private static IllegalStateException unexpected(Throwable e) {
        return new IllegalStateException("java.lang.ScopedValue does not work as it is specified", e);
    }

    private static final class Run implements Runnable {

        private final LeaseScope scope;
        private final LockCall.Body body;
        private @Nullable Object result;
        private @Nullable Throwable thrown;

        Run(LeaseScope scope, LockCall.Body body) {
            this.scope = scope;
            this.body = body;
        }

        @Override
        public void run() {
            try {
                result = body.run(scope.hold());
            } catch (Throwable e) {
                thrown = e;
            }
        }
    }

    /**
     * {@code ScopedValue} and its methods, with types that this code can name.
     *
     * @param value the scoped value
     * @param isBound whether a thread has it
     * @param get what a thread has
     * @param where a carrier of one more binding
     * @param run runs something with what a carrier binds
     */
    private record Handles(Object value, MethodHandle isBound, MethodHandle get, MethodHandle where, MethodHandle run) {

        static Handles found() {
            try {
                Class<?> type = Class.forName("java.lang.ScopedValue");
                Class<?> carrier = Class.forName("java.lang.ScopedValue$Carrier");
                MethodHandles.Lookup lookup = MethodHandles.publicLookup();
                Object value = lookup.findStatic(type, "newInstance", MethodType.methodType(type))
                        .invoke();
                return new Handles(
                        value,
                        lookup.findVirtual(type, "isBound", MethodType.methodType(boolean.class))
                                .asType(MethodType.methodType(boolean.class, Object.class)),
                        lookup.findVirtual(type, "get", MethodType.methodType(Object.class))
                                .asType(MethodType.methodType(LeaseScope.class, Object.class)),
                        lookup.findStatic(type, "where", MethodType.methodType(carrier, type, Object.class))
                                .asType(MethodType.methodType(Object.class, Object.class, Object.class)),
                        lookup.findVirtual(carrier, "run", MethodType.methodType(void.class, Runnable.class))
                                .asType(MethodType.methodType(void.class, Object.class, Runnable.class)));
            } catch (Throwable e) {
                throw unexpected(e);
            }
        }
    }
}
