package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.Permits;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/** Threads that take permits in turn, and check that no two are on one slot and not too many are inside. */
final class PermitTurns {

    private final int count;
    private final AtomicInteger inside = new AtomicInteger();
    private final AtomicIntegerArray onSlot;
    private final AtomicLongArray lastToken;
    private final AtomicInteger taken = new AtomicInteger();
    private final Queue<String> violations = new ConcurrentLinkedQueue<>();

    PermitTurns(int count) {
        this.count = count;
        this.onSlot = new AtomicIntegerArray(count);
        this.lastToken = new AtomicLongArray(count);
    }

    /** One turn of a thread: takes what it wants, works, and releases it. */
    private interface Turn {
        void take(Permits permits) throws InterruptedException;
    }

    /** Lets so many threads of each client take a permit so often, and waits for them. */
    void run(List<Permits> clients, int threads, int times) throws InterruptedException {
        run(clients, threads, times, permits -> {
            try (Permit permit = permits.acquire()) {
                begin(permit.slot(), permit.fencingToken());
                pause();
                end(permit.slot());
            }
        });
    }

    /** Lets so many threads of each client take so many permits at once so often, and waits for them. */
    void runSeveral(List<Permits> clients, int threads, int times, int number) throws InterruptedException {
        run(clients, threads, times, permits -> {
            try (MultiPermit several = permits.several(number).acquire()) {
                if (several.slots().size() != number) {
                    violations.add(several.slots() + " instead of " + number);
                }
                several.slots().forEach(slot -> begin(slot, several.fencingToken(slot)));
                pause();
                several.slots().forEach(this::end);
            }
        });
    }

    private void run(List<Permits> clients, int threads, int times, Turn turn) throws InterruptedException {
        List<Thread> all = new ArrayList<>();
        for (Permits permits : clients) {
            for (int i = 0; i < threads; i++) {
                Thread thread = new Thread(() -> take(permits, times, turn), "permit-turns");
                all.add(thread);
                thread.start();
            }
        }
        for (Thread thread : all) {
            thread.join(TckBench.PATIENCE.toMillis());
            assertTrue(!thread.isAlive(), "every thread gets its permits within " + TckBench.PATIENCE);
        }
    }

    private void take(Permits permits, int times, Turn turn) {
        try {
            for (int i = 0; i < times; i++) {
                turn.take(permits);
            }
        } catch (InterruptedException | RuntimeException e) {
            violations.add("a thread failed: " + e);
        }
    }

    private void begin(int slot, long token) {
        if (slot < 0 || slot >= count) {
            violations.add("slot " + slot + " of " + count);
            return;
        }
        taken.incrementAndGet();
        if (inside.incrementAndGet() > count) {
            violations.add("more than " + count + " are inside");
        }
        if (onSlot.incrementAndGet(slot) > 1) {
            violations.add("two are on slot " + slot);
        }
        long before = lastToken.getAndSet(slot, token);
        if (before >= token) {
            violations.add("token " + token + " follows " + before + " on slot " + slot);
        }
    }

    private static void pause() {
        LockSupport.parkNanos(
                TimeUnit.MICROSECONDS.toNanos(ThreadLocalRandom.current().nextInt(3_000)));
    }

    private void end(int slot) {
        if (slot >= 0 && slot < count) {
            onSlot.decrementAndGet(slot);
            inside.decrementAndGet();
        }
    }

    int taken() {
        return taken.get();
    }

    List<String> violations() {
        return List.copyOf(violations);
    }
}
