package io.leasehold.benchmarks.measure;

import io.leasehold.benchmarks.peer.Peer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/** Threads that lock and unlock from a common start to a common end. */
public final class Drive {

    private static final long START_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(30);

    private final Peer peer;
    private final int threads;
    private final ThreadFactory factory;

    /** Creates this number of threads of that kind. */
    public Drive(Peer peer, int threads, ThreadFactory factory) {
        this.peer = peer;
        this.threads = threads;
        this.factory = factory;
    }

    /** A time in the near future, on the clock that all processes of a machine share. */
    public static long soonAtNanos(long processes) {
        return System.nanoTime() + START_DELAY_NANOS * processes;
    }

    /**
     * Runs one window; each thread locks at least once.
     *
     * @param names supplies the name of the next lock of each thread, by its number
     * @throws IllegalStateException if a thread failed
     */
    public Load run(IntFunction<Supplier<String>> names, long startAtNanos, long lengthNanos)
            throws InterruptedException {
        Histogram[] waits = new Histogram[threads];
        long[] counts = new long[threads];
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int number = i;
            waits[i] = Waits.empty();
            Thread thread = factory.newThread(() -> {
                try {
                    sleepUntil(startAtNanos);
                    counts[number] = pairs(names.apply(number), startAtNanos + lengthNanos, waits[number]);
                } catch (Throwable e) {
                    failure.compareAndSet(null, e);
                }
            });
            started.add(thread);
            thread.start();
        }
        sleepUntil(startAtNanos);
        double cpuBefore = ProcessCpu.seconds();
        double bytesBefore = ProcessAllocation.bytes();
        for (Thread thread : started) {
            thread.join();
        }
        double seconds = (System.nanoTime() - startAtNanos) / 1e9;
        double cpu = ProcessCpu.seconds() - cpuBefore;
        double bytes = ProcessAllocation.bytes() - bytesBefore;
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new IllegalStateException("a thread of the load failed", thrown);
        }
        Histogram all = Waits.empty();
        List<Long> perThread = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(waits[i]);
            perThread.add(counts[i]);
        }
        return Load.of(perThread, seconds, cpu, bytes, all);
    }

    private long pairs(Supplier<String> names, long endAtNanos, Histogram waits) throws InterruptedException {
        long count = 0;
        long now = System.nanoTime();
        do {
            Peer.Held held = peer.acquire(names.get());
            waits.recordValue(System.nanoTime() - now);
            held.release();
            count++;
            now = System.nanoTime();
        } while (now - endAtNanos < 0);
        return count;
    }

    private static void sleepUntil(long atNanos) {
        for (long left = atNanos - System.nanoTime(); left > 0; left = atNanos - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
