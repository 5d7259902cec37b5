package io.leasehold.cli.process;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks again and again at what runs, so that what loses its parent is remembered, and tells the {@link Guardian} of what it
 * could not find by itself. A thread of its own; a look that fails is made again.
 */
final class StrayWatch {

    private static final Duration WHERE_LOOKING_IS_ALL = Duration.ofMillis(250);
    private static final Duration ELSEWHERE = Duration.ofSeconds(1);

    /** Looking takes at most this part of a processor. */
    private static final int SHARE = 50;

    private final ProcessTree tree;
    private final Guardian guardian;
    private final long leastNanos;
    private final Thread thread = new Thread(this::watch, "leasehold-stray-watch");
    private volatile boolean stopped;

    StrayWatch(ProcessTree tree, Guardian guardian, Containment way) {
        this.tree = tree;
        this.guardian = guardian;
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
        while (!stopped) {
            long startedAtNanos = System.nanoTime();
            try {
                guardian.know(tree.lookForStrays());
            } catch (RuntimeException | Error again) {
                // No memory, no thread, no file descriptor: there may be one at the next look.
            }
            long tookNanos = System.nanoTime() - startedAtNanos;
            LockSupport.parkNanos(Math.max(leastNanos, Math.min(tookNanos * SHARE, TimeUnit.SECONDS.toNanos(10))));
        }
    }
}
