package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;

/** A runtime in which time passes only when a test says so. Callbacks run at once, on the thread that submits them. */
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
    private final List<Runnable> atExit = new CopyOnWriteArrayList<>();
    private long nowNanos = 1_000_000_000L;
    private long wallNanos = 1_700_000_000_000_000_000L;
    private byte drawn;
    private int undrawn;
    private int failures;
    private int failuresAfter;
    private boolean passesInWaits;
    private volatile boolean closed;
    private List<Runnable> held;
    private volatile Runnable beforeAClockIsRead = () -> {};
    private volatile Runnable afterTheClockIsRead = () -> {};

    @Override
    public long nanoTime() {
        beforeAClockIsRead.run();
        long read;
        synchronized (this) {
            read = nowNanos;
        }
        afterTheClockIsRead.run();
        return read;
    }

    @Override
    public long wallMillis() {
        beforeAClockIsRead.run();
        synchronized (this) {
            return wallNanos / 1_000_000;
        }
    }

    /** Runs this step from now on whenever a thread is about to read a clock. */
    void beforeAClockIsRead(Runnable step) {
        beforeAClockIsRead = step;
    }

    /** Runs this step from now on whenever a thread has read the monotonic clock, and does not have its result yet. */
    void afterTheClockIsRead(Runnable step) {
        afterTheClockIsRead = step;
    }

    /** Suspends the machine: the wall clock advances, the monotonic clock does not. */
    synchronized void suspend(Duration span) {
        wallNanos += span.toNanos();
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        failIfTold();
        synchronized (this) {
            Entry entry = new Entry(this, nowNanos + Math.max(0, delayNanos), task);
            entries.add(entry);
            return entry;
        }
    }

    /** Exits the process in order: the registered tasks run. */
    void exit() {
        List.copyOf(atExit).forEach(Runnable::run);
    }

    /** Returns how many clients an exit would close. */
    int closedByAnExit() {
        return atExit.size();
    }

    @Override
    public Timer onExit(Runnable task) {
        atExit.add(task);
        return () -> atExit.remove(task);
    }

    /** Lets time pass, with every timer late. */
    synchronized void passUnnoticed(Duration span) {
        nowNanos += span.toNanos();
        wallNanos += span.toNanos();
    }

    /** Lets time pass, and fires the timers that become due, in order. */
    void pass(Duration span) {
        long untilAtNanos = now() + span.toNanos();
        for (Entry next = nextUntil(untilAtNanos); next != null; next = nextUntil(untilAtNanos)) {
            next.task.run();
        }
        synchronized (this) {
            wallNanos += untilAtNanos - nowNanos;
            nowNanos = untilAtNanos;
        }
    }

    private synchronized long now() {
        return nowNanos;
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

    /** From now on, lets time pass while a thread waits, from timer to timer. */
    synchronized void passesInWaits() {
        passesInWaits = true;
    }

    private synchronized boolean passesToTheNextTimer(CompletableFuture<?> future) {
        if (!passesInWaits || future.isDone()) {
            return false;
        }
        if (entries.isEmpty()) {
            throw new IllegalStateException("it waits forever: no timer is armed");
        }
        return true;
    }

    private synchronized Duration untilTheNextTimer() {
        return entries.stream()
                .map(entry -> Duration.ofNanos(Math.max(0, entry.atNanos - nowNanos)))
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    /** Drops the armed timers, as the end of a runtime does. */
    synchronized void dropTimers() {
        entries.clear();
    }

    synchronized int timers() {
        return entries.size();
    }

    /** Makes this number of starts of a thread, an executor or a timer fail. */
    synchronized void failToStart(int times) {
        failToStart(times, 0);
    }

    /** Does the same, after this number of successful starts. */
    synchronized void failToStart(int times, int after) {
        failures = times;
        failuresAfter = after;
    }

    private synchronized void failIfTold() {
        if (failures > 0 && failuresAfter-- <= 0) {
            failures--;
            throw new InternalError("no thread (made by the test)");
        }
    }

    /**
     * Holds callbacks from now on, as if each of their threads were late. Callbacks that are submitted after the close
     * never run.
     */
    synchronized void holdCallbacks() {
        held = new ArrayList<>();
    }

    /** Runs the held callbacks, and from now on all others at once. */
    void runCallbacks() {
        List<Runnable> late;
        synchronized (this) {
            late = held;
            held = null;
        }
        late.forEach(Runnable::run);
    }

    @Override
    public void execute(Runnable task) {
        failIfTold();
        synchronized (this) {
            if (held != null) {
                if (!closed) {
                    held.add(task);
                }
                return;
            }
        }
        task.run();
    }

    /** Makes this number of draws of random bytes or numbers fail. */
    synchronized void failToDraw(int times) {
        undrawn = times;
    }

    @Override
    public synchronized void randomBytes(byte[] bytes) {
        if (undrawn > 0) {
            undrawn--;
            throw new InternalError("no randomness (made by the test)");
        }
        drawn++;
        java.util.Arrays.fill(bytes, drawn);
    }

    @Override
    public long randomBelow(long bound) {
        return 0;
    }

    @Override
    public void await(CompletableFuture<?> future) throws InterruptedException {
        while (passesToTheNextTimer(future)) {
            pass(untilTheNextTimer());
        }
        try {
            future.get();
        } catch (ExecutionException | CancellationException e) {
            return;
        }
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        closed = true;
    }
}
