package io.leasehold.benchmarks.measure;

import java.lang.reflect.Method;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;

/** The kinds of thread that generate load. */
public final class Threads {

    private Threads() {}

    /** Threads of the operating system. */
    public static ThreadFactory platform() {
        return task -> {
            Thread thread = new Thread(task, "load");
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Virtual threads, if this JVM has them (since 21). */
    public static Optional<ThreadFactory> virtual() {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Method factory = Class.forName("java.lang.Thread$Builder").getMethod("factory");
            return Optional.of((ThreadFactory) factory.invoke(builder));
        } catch (ReflectiveOperationException e) {
            return Optional.empty();
        }
    }
}
