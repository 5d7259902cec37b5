package io.leasehold.quorum;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A runtime for one thread whose time a test moves; what is due runs on the way. */
final class HandClock implements LockRuntime {

    private record Entry(long atNanos, Runnable task) {}

    private final List<Entry> entries = new ArrayList<>();
    private long nowNanos = 5_000_000_000L;
    private int drawn;

    void pass(Duration span) {
        long until = nowNanos + span.toNanos();
        while (true) {
            Entry next = entries.stream()
                    .filter(entry -> entry.atNanos <= until)
                    .min(Comparator.comparingLong(Entry::atNanos))
                    .orElse(null);
            if (next == null) {
                break;
            }
            entries.remove(next);
            nowNanos = Math.max(nowNanos, next.atNanos);
            next.task.run();
        }
        nowNanos = until;
    }

    @Override
    public long nanoTime() {
        return nowNanos;
    }

    @Override
    public long wallMillis() {
        return 1_800_000_000_000L + nowNanos / 1_000_000;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        Entry entry = new Entry(nowNanos + Math.max(0, delayNanos), task);
        entries.add(entry);
        return () -> entries.removeIf(one -> one == entry);
    }

    @Override
    public void execute(Runnable task) {
        task.run();
    }

    @Override
    public void randomBytes(byte[] bytes) {
        drawn++;
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i < 4 ? drawn >> 8 * i : 1);
        }
    }

    @Override
    public long randomBelow(long bound) {
        return 0;
    }

    @Override
    public void await(CompletableFuture<?> future) {
        while (!future.isDone()) {
            pass(Duration.ofMillis(1));
        }
    }

    @Override
    public void close() {}
}
