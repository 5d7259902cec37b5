package io.leasehold.engine;

import io.leasehold.spi.InlineThread;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The single timer of a client: a heap holds all its entries, and at most one timer of the runtime is armed for them.
 *
 * <p>The armed timer stays when an entry is cancelled or a later one is added, so that acquiring and releasing locks
 * all day does not wake the timer thread. A cancelled entry loses its task at once. It is removed when it is the first,
 * or with all others when most are cancelled: a million past leases leave nothing behind.
 *
 * <p>{@code this} guards the fields; tasks run outside of the guard, on the runtime's timer thread.
 */
final class TimerQueue {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** The delay after which a failed check is repeated. */
    static final long CHECK_AGAIN_NANOS = 100_000_000;

    private static final int MIN_SWEEP = 16;

    private final LockRuntime runtime;
    private final PriorityQueue<Entry> heap =
            new PriorityQueue<>((one, other) -> Long.signum(one.atNanos - other.atNanos));
    /** The number of cancelled entries in the heap. */
    private int cancelled;

    private LockRuntime.@Nullable Timer armed;
    private long armedAtNanos;
    /** The number of the current timer among all that were armed. */
    private long generation;

    TimerQueue(LockRuntime runtime) {
        this.runtime = runtime;
    }

    /** Cancels a timer, if there is one; returns null, for the field that held it. */
    static LockRuntime.@Nullable Timer cancelled(LockRuntime.@Nullable Timer timer) {
        if (timer != null) {
            timer.cancel();
        }
        return null;
    }

    /** Runs the task once, {@code delayNanos} from now. */
    LockRuntime.Timer schedule(long delayNanos, Runnable task) {
        return scheduleAt(runtime.nanoTime() + Math.max(0, Math.min(delayNanos, Long.MAX_VALUE / 4)), task);
    }

    /** Runs the task once, at this time. */
    LockRuntime.Timer scheduleAt(long atNanos, Runnable task) {
        Entry entry = new Entry(atNanos, task);
        synchronized (this) {
            heap.add(entry);
            if (first() == entry || armed == null) {
                arm();
            }
            sweep();
        }
        return entry;
    }

    /**
     * Drops the cancelled entries once they are most of the queue; called under the guard. If that fails for lack of
     * memory, the next entry retries it.
     */
    private void sweep() {
        if (cancelled <= Math.max(MIN_SWEEP, heap.size() / 2)) {
            return;
        }
        try {
            heap.removeIf(each -> each.task == null);
            cancelled = 0;
        } catch (OutOfMemoryError e) {
            LOG.error("cancelled timers of the lock client could not be dropped", e);
        }
    }

    /**
     * Arms a timer for the first entry; called under the guard. The later timer stays until the earlier one is armed.
     */
    private void arm() {
        Entry first = first();
        if (first == null) {
            return;
        }
        long atNanos = first.atNanos;
        LockRuntime.Timer later = armed;
        if (later != null && armedAtNanos - atNanos <= 0) {
            return;
        }
        boolean isThere = armedAt(atNanos);
        if (!isThere) {
            // Retry once: perhaps nothing else would arm it again.
            isThere = armedAt(atNanos);
        }
        if (isThere && later != null) {
            later.cancel();
        }
    }

    /** Arms a timer; returns false if none could be armed. */
    private boolean armedAt(long atNanos) {
        long mine = generation + 1;
        try {
            armed = runtime.schedule(atNanos - runtime.nanoTime(), () -> fire(mine));
            armedAtNanos = atNanos;
            generation = mine;
            return true;
        } catch (Error e) {
            // The entries stay: the next one that is added or fires arms a timer for all of them.
            LOG.error("no timer of the lock client could be armed", e);
            return false;
        }
    }

    /**
     * Runs the due tasks. A timer that was cancelled too late fires, too, and must not affect the current one:
     * otherwise, each such timer would continue forever.
     */
    private void fire(long fired) {
        List<Runnable> due = List.of();
        synchronized (this) {
            if (fired == generation) {
                armed = null;
            }
            try {
                due = new ArrayList<>();
                takeDue(due);
            } catch (Error e) {
                LOG.error("the timed tasks of the lock client could not be processed; this is repeated", e);
            }
            arm();
        }
        List<Runnable> tasks = due;
        // Run each task, even after a failure: the others are the renewals of other leases.
        InlineThread.run(() -> tasks.forEach(task -> Futures.guarded("a timed task", task)));
    }

    /** Takes the due tasks; called under the guard. The list keeps the tasks that were taken before an Error. */
    private void takeDue(List<Runnable> due) {
        long nowNanos = runtime.nanoTime();
        for (Entry first; (first = first()) != null && first.atNanos - nowNanos <= 0; ) {
            due.add(Objects.requireNonNull(first.task));
            first.task = null;
            heap.remove();
        }
    }

    /** The first entry that is not cancelled; called under the guard. */
    private @Nullable Entry first() {
        Entry first = heap.peek();
        while (first != null && first.task == null) {
            heap.remove();
            cancelled--;
            first = heap.peek();
        }
        return first;
    }

    /** An entry of the heap; without a task once it is cancelled or due. */
    private final class Entry implements LockRuntime.Timer {

        private final long atNanos;
        private @Nullable Runnable task;

        Entry(long atNanos, Runnable task) {
            this.atNanos = atNanos;
            this.task = task;
        }

        @Override
        public void cancel() {
            synchronized (TimerQueue.this) {
                cancelled += task == null ? 0 : 1;
                task = null;
            }
        }
    }

    /** Returns the number of waiting entries. */
    synchronized int size() {
        return heap.size() - cancelled;
    }
}
