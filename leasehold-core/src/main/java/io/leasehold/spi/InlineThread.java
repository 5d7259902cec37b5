package io.leasehold.spi;

import java.util.List;
import java.util.Locale;

/**
 * Recognises the threads that must not wait for the store, since its answer or other clients' work may need them:
 * timers, listeners that are called inline, and event loops.
 */
public final class InlineThread {

    private static final String NON_BLOCKING = "reactor.core.scheduler.NonBlocking";
    /** The parts of thread names that mark an event loop: of Netty, Vert.x, and drivers on Netty. */
    private static final List<String> EVENT_LOOPS = List.of("eventloop", "eventexecutor", "-netty-", "-elg-");

    private static final ThreadLocal<Boolean> INLINE = new ThreadLocal<>();

    private InlineThread() {}

    /** Runs a step during which this thread must not wait. */
    public static void run(Runnable step) {
        if (INLINE.get() != null) {
            step.run();
            return;
        }
        INLINE.set(true);
        try {
            step.run();
        } finally {
            INLINE.remove();
        }
    }

    /** Whether the current thread must not wait. */
    public static boolean isCurrent() {
        Thread thread = Thread.currentThread();
        String name = thread.getName().toLowerCase(Locale.ROOT);
        return INLINE.get() != null
                || EVENT_LOOPS.stream().anyMatch(name::contains)
                || isNonBlocking(thread.getClass());
    }

    /** Whether Reactor calls threads of this class non-blocking; by name, since core does not know Reactor. */
    private static boolean isNonBlocking(Class<?> of) {
        for (Class<?> each = of; each != null; each = each.getSuperclass()) {
            for (Class<?> marker : each.getInterfaces()) {
                if (marker.getName().equals(NON_BLOCKING)) {
                    return true;
                }
            }
        }
        return false;
    }
}
