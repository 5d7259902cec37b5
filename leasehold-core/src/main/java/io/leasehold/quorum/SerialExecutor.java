package io.leasehold.quorum;

import java.util.ArrayDeque;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs tasks one after another, in the order of submission, on the submitting threads. A task that a running task
 * submits follows it. Thus no monitor is held while requests are sent, and requests are sent in the order of the
 * decisions.
 */
final class SerialExecutor {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private boolean running;

    void run(Runnable task) {
        synchronized (this) {
            tasks.add(task);
            if (running) {
                return;
            }
            running = true;
        }
        for (Runnable next = take(); next != null; next = take()) {
            try {
                next.run();
            } catch (RuntimeException | Error e) {
                LOG.error("a step of a quorum lock failed unexpectedly", e);
            }
        }
    }

    private synchronized @org.jspecify.annotations.Nullable Runnable take() {
        Runnable next = tasks.poll();
        running = next != null;
        return next;
    }
}
