package io.leasehold.spring;

import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshotFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;

/**
 * The values that the thread of a caller has, such as its observation, for work on another thread. Needs Micrometer's
 * context propagation; without it, the work does not see them.
 */
final class CallerContext {

    private static final boolean PRESENT =
            ClassUtils.isPresent("io.micrometer.context.ContextSnapshotFactory", CallerContext.class.getClassLoader());

    private CallerContext() {}

    /** The work on another thread. */
    interface Work {
        @Nullable
        Object run() throws Throwable;
    }

    /** The captured values. */
    interface Captured {

        /** Runs the work with these values on the calling thread, which has its own values again afterwards. */
        @Nullable
        Object run(Work work) throws Throwable;
    }

    /** Captures the values of the calling thread. */
    static Captured captured() {
        return PRESENT ? OfMicrometer.captured() : Work::run;
    }

    /** A separate class, since it cannot be linked without context propagation. */
    private static final class OfMicrometer {

        private static final ContextSnapshotFactory SNAPSHOTS =
                ContextSnapshotFactory.builder().build();

        private OfMicrometer() {}

        static Captured captured() {
            ContextSnapshot snapshot = SNAPSHOTS.captureAll();
            return work -> {
                try (ContextSnapshot.Scope values = snapshot.setThreadLocals()) {
                    return work.run();
                }
            };
        }
    }
}
