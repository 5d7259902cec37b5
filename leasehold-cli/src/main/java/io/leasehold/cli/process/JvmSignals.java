package io.leasehold.cli.process;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Catches signals through {@code sun.misc.Signal}, the only way in the JDK. It is called by reflection because the compiler
 * warns of it in a way that cannot be suppressed, and warnings are errors here.
 */
final class JvmSignals {

    private JvmSignals() {}

    /**
     * Runs the action, on a separate thread, at each arrival of the signal; a signal that was ignored when this process
     * started stays ignored. Does nothing for a signal that the JVM keeps or this system does not have.
     */
    static void handle(String name, Runnable action) {
        try {
            Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
            Object handler = Proxy.newProxyInstance(
                    JvmSignals.class.getClassLoader(), new Class<?>[] {handlerType}, (proxy, m, a) -> {
                        if (m.getName().equals("handle")) {
                            action.run();
                        }
                        return null;
                    });
            Constructor<?> signal = Class.forName("sun.misc.Signal").getConstructor(String.class);
            Method handle = signal.getDeclaringClass().getMethod("handle", signal.getDeclaringClass(), handlerType);
            handle.invoke(null, signal.newInstance(name), handler);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof IllegalArgumentException)) {
                throw new IllegalStateException("cannot catch SIG" + name, e);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM offers no way to catch SIG" + name, e);
        }
    }

    /** The signal's number on this system. */
    static int number(String name) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Object value = signal.getConstructor(String.class).newInstance(name);
            return (Integer) signal.getMethod("getNumber").invoke(value);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM does not know SIG" + name, e);
        }
    }
}
