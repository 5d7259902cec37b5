package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.Lease;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Threads that read, write and downgrade in turn, and check that no writer is beside another, and the order of tokens. */
final class ReadWriteTurns {

    private final AtomicInteger readers = new AtomicInteger();
    private final AtomicInteger writers = new AtomicInteger();
    private final AtomicLong lastWritten = new AtomicLong();
    private final AtomicLong largest = new AtomicLong();
    private final AtomicInteger taken = new AtomicInteger();
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();

    /** Lets so many threads of each client take the lock so often, and waits for them. */
    void run(List<SharedLock> clients, int threads, int times) throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (SharedLock lock : clients) {
            for (int i = 0; i < threads; i++) {
                Thread thread = new Thread(() -> take(lock, times), "read-write-turns");
                all.add(thread);
                thread.start();
            }
        }
        for (Thread thread : all) {
            thread.join(TckBench.PATIENCE.toMillis());
            assertTrue(!thread.isAlive(), "every thread gets its turns within " + TckBench.PATIENCE);
        }
    }

    private void take(SharedLock lock, int times) {
        try {
            for (int i = 0; i < times; i++) {
                if (ThreadLocalRandom.current().nextInt(3) > 0) {
                    try (Lease reader = lock.read().acquire()) {
                        read(reader);
                    }
                } else {
                    write(lock.write().acquire());
                }
                taken.incrementAndGet();
            }
        } catch (InterruptedException | RuntimeException e) {
            violations.add("a thread failed: " + e);
        }
    }

    private void read(Lease reader) {
        readers.incrementAndGet();
        if (writers.get() > 0) {
            violations.add("a reader is beside a writer");
        }
        if (reader.fencingToken() <= lastWritten.get()) {
            violations.add("reader " + reader.fencingToken() + " follows writer " + lastWritten.get());
        }
        largest.accumulateAndGet(reader.fencingToken(), Math::max);
        pause();
        readers.decrementAndGet();
    }

    private void write(WriteLease writer) {
        if (writers.incrementAndGet() > 1 || readers.get() > 0) {
            violations.add("a writer is beside another holder");
        }
        if (writer.fencingToken() <= largest.get()) {
            violations.add("writer " + writer.fencingToken() + " follows " + largest.get());
        }
        lastWritten.set(writer.fencingToken());
        largest.accumulateAndGet(writer.fencingToken(), Math::max);
        pause();
        writers.decrementAndGet();
        if (ThreadLocalRandom.current().nextBoolean()) {
            writer.close();
            return;
        }
        try (Lease reader = writer.downgrade()) {
            read(reader);
        }
    }

    private static void pause() {
        LockSupport.parkNanos(
                TimeUnit.MICROSECONDS.toNanos(ThreadLocalRandom.current().nextInt(3_000)));
    }

    int taken() {
        return taken.get();
    }

    List<String> violations() {
        return List.copyOf(violations);
    }
}
