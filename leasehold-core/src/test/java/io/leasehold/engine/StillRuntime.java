package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** A runtime in which no time passes unless a test says so; callbacks run at once, where they are submitted. */
final class StillRuntime implements LockRuntime {

    private static final class Entry implements Timer {
        private final StillRuntime runtime;
        private final long atNanos;
        private final Runnable task;

        Entry(StillRuntime runtime, long atNanos, Runnable task) {
            this.runtime = runtime;
            this.atNanos = atNanos;
            this.task = task;
        }

        @Override
        public void cancel() {
            synchronized (runtime) {
                runtime.entries.remove(this);
            }
        }
    }

    private final List<Entry> entries = new ArrayList<>();
    private long nowNanos = 1_000_000_000L;
    private long wallNanos = 1_700_000_000_000_000_000L;
    private byte drawn;

    @Override
    public synchronized long nanoTime() {
        return nowNanos;
    }

    @Override
    public synchronized long wallMillis() {
        return wallNanos / 1_000_000;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        synchronized (this) {
            Entry entry = new Entry(this, nowNanos + Math.max(0, delayNanos), task);
            entries.add(entry);
            return entry;
        }
    }

    /** Lets time pass, and fires what is due on the way, in order. */
    void pass(Duration span) {
        long untilAtNanos = nanoTime() + span.toNanos();
        for (Entry next = nextUntil(untilAtNanos); next != null; next = nextUntil(untilAtNanos)) {
            next.task.run();
        }
        synchronized (this) {
            wallNanos += untilAtNanos - nowNanos;
            nowNanos = untilAtNanos;
        }
    }

    private synchronized Entry nextUntil(long untilAtNanos) {
        Entry next = entries.stream()
                .filter(entry -> entry.atNanos - untilAtNanos <= 0)
                .min(Comparator.comparingLong(entry -> entry.atNanos))
                .orElse(null);
        if (next != null) {
            entries.remove(next);
            long at = Math.max(nowNanos, next.atNanos);
            wallNanos += at - nowNanos;
            nowNanos = at;
        }
        return next;
    }

    synchronized int timers() {
        return entries.size();
    }

    @Override
    public void execute(Runnable task) {
        task.run();
    }

    @Override
    public synchronized void randomBytes(byte[] bytes) {
        drawn++;
        java.util.Arrays.fill(bytes, drawn);
    }

    @Override
    public long randomBelow(long bound) {
        return 0;
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        try {
            future.get();
        } catch (ExecutionException | CancellationException e) {
            return;
        }
    }

    @Override
    public void close() {}
}
