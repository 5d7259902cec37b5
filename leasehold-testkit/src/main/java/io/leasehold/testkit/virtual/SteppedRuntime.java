package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A runtime whose clock stands still until a test advances it, and whose timers fire then; threads, random numbers and
 * the wall clock are those of another runtime. Thread-safe.
 */
public final class SteppedRuntime implements LockRuntime {

    private record Due(long atNanos, Runnable task) {}

    private final LockRuntime world;
    private final List<Due> timers = new ArrayList<>();
    private long nowNanos = 1;

    /**
     * Creates a runtime whose clock stands at a nanosecond.
     *
     * @param world the runtime that supplies threads, random numbers and wall clock; closed with this one
     */
    public SteppedRuntime(LockRuntime world) {
        this.world = world;
    }

    /** Advances the clock, and fires the due timers on this thread. */
    public void advance(Duration by) {
        long endNanos;
        synchronized (this) {
            endNanos = nowNanos + by.toNanos();
        }
        while (true) {
            Due next;
            synchronized (this) {
                next = timers.stream()
                        .min(Comparator.comparingLong(Due::atNanos))
                        .filter(first -> first.atNanos <= endNanos)
                        .orElse(null);
                if (next == null) {
                    nowNanos = endNanos;
                    return;
                }
                nowNanos = Math.max(nowNanos, next.atNanos);
                timers.remove(next);
            }
            next.task.run();
        }
    }

    /** Advances the clock without firing timers: the state of a machine that wakes from sleep. */
    public synchronized void sleep(Duration by) {
        nowNanos += by.toNanos();
    }

    /** Whether a timer is due within this span. */
    public synchronized boolean isDueWithin(Duration span) {
        return timers.stream().anyMatch(one -> one.atNanos - nowNanos <= span.toNanos());
    }

    @Override
    public synchronized long nanoTime() {
        return nowNanos;
    }

    @Override
    public long wallMillis() {
        return world.wallMillis();
    }

    @Override
    public synchronized Timer schedule(long delayNanos, Runnable task) {
        Due due = new Due(nowNanos + Math.max(0, delayNanos), task);
        timers.add(due);
        return () -> {
            synchronized (this) {
                timers.remove(due);
            }
        };
    }

    @Override
    public void execute(Runnable task) {
        world.execute(task);
    }

    @Override
    public void randomBytes(byte[] bytes) {
        world.randomBytes(bytes);
    }

    @Override
    public long randomBelow(long bound) {
        return world.randomBelow(bound);
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        world.await(future);
    }

    @Override
    public void close() {
        world.close();
    }
}
