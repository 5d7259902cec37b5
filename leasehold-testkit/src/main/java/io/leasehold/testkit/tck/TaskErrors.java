package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Threads of a test whose failures are the test's. */
final class TaskErrors {

    /** Test code that may throw anything. */
    interface Task {
        void run() throws Exception;
    }

    private static final long MAX_MILLIS = 5 * 60_000L;

    private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();

    Thread start(String name, Task task) {
        Thread thread = new Thread(
                () -> {
                    try {
                        task.run();
                    } catch (Throwable e) {
                        errors.add(e);
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Waits for the threads, and fails with the first of their failures. */
    void join(List<Thread> threads) {
        for (Thread thread : threads) {
            try {
                thread.join(MAX_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                fail("interrupted", e);
            }
            if (thread.isAlive()) {
                IllegalStateException stuck = new IllegalStateException(thread.getName() + " is stuck");
                stuck.setStackTrace(thread.getStackTrace());
                fail(stuck);
            }
        }
        failIfAny();
    }

    /** Fails with the first of their failures, if there is one: other threads may wait forever for the failed one. */
    void failIfAny() {
        Throwable first = errors.poll();
        if (first != null) {
            fail("a thread of the test failed: " + first, first);
        }
    }
}
