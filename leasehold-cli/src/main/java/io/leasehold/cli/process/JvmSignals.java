package io.leasehold.cli.process;

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
            Object before = set(name, handlerType, handler);
            Object ignoring = handlerType.getField("SIG_IGN").get(null);
            if (ignoring.equals(before)) {
                set(name, handlerType, ignoring);
            }
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof IllegalArgumentException)) {
                throw new IllegalStateException("cannot catch SIG" + name, e);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM offers no way to catch SIG" + name, e);
        }
    }

    /** Restores the system's default action for this signal while the work runs. */
    static void leaveToTheSystem(String name, Runnable work) {
        try {
            Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
            Object before =
                    set(name, handlerType, handlerType.getField("SIG_DFL").get(null));
            try {
                work.run();
            } finally {
                set(name, handlerType, before);
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM cannot leave SIG" + name + " to the system", e);
        }
    }

    private static Object set(String name, Class<?> handlerType, Object handler) throws ReflectiveOperationException {
        Object signal = signal(name);
        Method handle = signal.getClass().getMethod("handle", signal.getClass(), handlerType);
        return handle.invoke(null, signal, handler);
    }

    private static Object signal(String name) throws ReflectiveOperationException {
        return Class.forName("sun.misc.Signal").getConstructor(String.class).newInstance(name);
    }

    /** The signal's number on this system. */
    static int number(String name) {
        try {
            Object signal = signal(name);
            return (Integer) signal.getClass().getMethod("getNumber").invoke(signal);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this JVM does not know SIG" + name, e);
        }
    }
}
