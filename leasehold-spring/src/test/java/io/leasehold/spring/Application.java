package io.leasehold.spring;

import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** An application with locks, from configuration classes and beans. */
final class Application {

    private Application() {}

    static AnnotationConfigApplicationContext of(Class<?>... classes) {
        return new AnnotationConfigApplicationContext(classes);
    }

    /** The exception that refuses its start. */
    static LockedUsageException refused(Class<?>... classes) {
        try (AnnotationConfigApplicationContext application = of(classes)) {
            throw new AssertionError("it started: " + application);
        } catch (RuntimeException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof LockedUsageException refusal) {
                    return refusal;
                }
            }
            throw e;
        }
    }
}
