package io.leasehold.testkit.tck;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures how long this process was stalled: if the machine did not run it for a renewal interval, a lease ends
 * correctly, and the test has tested nothing.
 */
final class StallGauge implements AutoCloseable {

    private static final long STEP_NANOS = 5_000_000L;

    private final Thread thread = new Thread(this::measure, "stall-gauge");
    private volatile boolean closed;
    private volatile long worstNanos;

    StallGauge() {
        thread.setDaemon(true);
        thread.start();
    }

    private void measure() {
        long last = System.nanoTime();
        while (!closed) {
            LockSupport.parkNanos(STEP_NANOS);
            long now = System.nanoTime();
            worstNanos = Math.max(worstNanos, now - last - STEP_NANOS);
            last = now;
        }
    }

    boolean sawMoreThan(Duration stall) {
        return worstNanos > stall.toNanos();
    }

    @Override
    public void close() {
        closed = true;
    }
}
