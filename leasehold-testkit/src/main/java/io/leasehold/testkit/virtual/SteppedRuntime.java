package io.leasehold.testkit.virtual;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A clock that stands until a test moves it, and timers that fire then; threads, random numbers and the wall clock are those of another runtime. Thread-safe. */
public final class SteppedRuntime implements LockRuntime {

    private record Due(long atNanos, Runnable task) {}

    private final LockRuntime world;
    private final List<Due> timers = new ArrayList<>();
    private long nowNanos = 1;

    /**
     * A clock that stands at a nanosecond.
     *
     * @param world whose threads, random numbers and wall clock these are; it is closed with this
     */
    public SteppedRuntime(LockRuntime world) {
        this.world = world;
    }

    /** Moves the clock, and fires what is due on the way, on this thread. */
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

    /** Moves the clock, and fires nothing yet: what a machine that slept finds when it wakes. */
    public synchronized void sleep(Duration by) {
        nowNanos += by.toNanos();
    }

    /** Whether a timer fires within so long. */
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
