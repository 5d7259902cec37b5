package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongUnaryOperator;

/** A runtime for one thread. The test advances its time, and due tasks run on the way. */
public final class HandClock implements LockRuntime {

    /** A timer; compared by identity. */
    private static final class Entry {
        private final long atNanos;
        private final Runnable task;

        Entry(long atNanos, Runnable task) {
            this.atNanos = atNanos;
            this.task = task;
        }
    }

    private final List<Entry> entries = new ArrayList<>();
    private long nowNanos = 5_000_000_000L;
    private int drawn;

    /** The random number for a bound. */
    public LongUnaryOperator lot = bound -> 0;

    /** Whether timers fail, as if no thread could be started. */
    boolean noTimers;

    /** Whether cancelled timers run anyway, like a timer that has already started. */
    boolean cancelsTooLate;

    public void pass(Duration span) {
        long until = nowNanos + span.toNanos();
        while (true) {
            Entry next = entries.stream()
                    .filter(entry -> entry.atNanos <= until)
                    .min(Comparator.comparingLong(entry -> entry.atNanos))
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
        if (noTimers) {
            throw new InternalError("no thread (made by the test)");
        }
        Entry entry = new Entry(nowNanos + Math.max(0, delayNanos), task);
        entries.add(entry);
        return () -> {
            if (!cancelsTooLate) {
                entries.remove(entry);
            }
        };
    }

    /** The number of armed timers. */
    public int armed() {
        return entries.size();
    }

    @Override
    public void execute(Runnable task) {
        task.run();
    }

    @Override
    public void randomBytes(byte[] bytes) {
        drawn++;
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i < 4 ? drawn >> (8 * i) : 1);
        }
    }

    @Override
    public long randomBelow(long bound) {
        return lot.applyAsLong(bound);
    }

    /** Whether the next wait of a thread is interrupted. */
    public boolean interruptsNextWait;

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        if (interruptsNextWait) {
            interruptsNextWait = false;
            throw new InterruptedException("made by the test");
        }
        answer(future);
    }

    /** Advances the time until the answer is there. */
    public <T> T answer(CompletableFuture<T> future) {
        for (int millis = 0; !future.isDone(); millis++) {
            assertThat(millis).as("milliseconds without an answer").isLessThan(100_000);
            pass(Duration.ofMillis(1));
        }
        return future.join();
    }

    @Override
    public void close() {}
}
