package io.leasehold.cli.process;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Polls the running processes, so that orphans are recorded, and reports to the {@link Guardian} the processes that it could
 * not find by itself. Runs on a separate thread; a failed poll is repeated.
 */
final class StrayWatch {

    private static final Duration WHERE_LOOKING_IS_ALL = Duration.ofMillis(250);
    private static final Duration ELSEWHERE = Duration.ofSeconds(1);

    /** Polling uses at most this share of a processor. */
    private static final int SHARE = 50;

    private final ProcessTree tree;
    private final Guardian guardian;
    private final boolean looksLater;
    private final long leastNanos;
    private final Thread thread = new Thread(this::watch, "leasehold-stray-watch");
    private volatile boolean stopped;

    StrayWatch(ProcessTree tree, Guardian guardian, Containment way) {
        this.tree = tree;
        this.guardian = guardian;
        // What the kernel keeps together needs no look at the start, which a short command would wait for.
        this.looksLater = way.isComplete();
        this.leastNanos = (way.isComplete() ? ELSEWHERE : WHERE_LOOKING_IS_ALL).toNanos();
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    void stop() {
        stopped = true;
        LockSupport.unpark(thread);
    }

    private void watch() {
        if (looksLater) {
            LockSupport.parkNanos(leastNanos);
        }
        while (!stopped) {
            long startedAtNanos = System.nanoTime();
            try {
                guardian.know(tree.lookForStrays());
            } catch (RuntimeException | Error again) {
                // No memory, no thread, no file descriptor: the next poll may succeed.
            }
            long tookNanos = System.nanoTime() - startedAtNanos;
            LockSupport.parkNanos(Math.max(leastNanos, Math.min(tookNanos * SHARE, TimeUnit.SECONDS.toNanos(10))));
        }
    }
}
