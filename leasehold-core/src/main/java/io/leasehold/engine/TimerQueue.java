package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one timer of a client: all its entries in a heap, and at most one timer of the runtime armed for them.
 *
 * <p>The armed timer stays when an entry is cancelled or a later one added, so that acquiring and releasing locks all day does
 * not wake the timer thread. A cancelled entry is removed at once: a million past leases leave nothing behind.
 *
 * <p>Guarded by {@code this}; tasks run outside of it, on the runtime's timer thread.
 */
final class TimerQueue {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final LockRuntime runtime;
    private Entry[] heap = new Entry[16];
    private int size;
    private LockRuntime.@Nullable Timer armed;
    private long armedAtNanos;
    /** The number of the current timer among all that were armed. */
    private long generation;

    TimerQueue(LockRuntime runtime) {
        this.runtime = runtime;
    }

    /** Cancels a timer, if there is one; for the field that held it. */
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
            add(entry);
            if (entry.index == 0 || armed == null) {
                arm();
            }
        }
        return entry;
    }

    /** Arms a timer for the first entry; called under the guard. The later timer stays until the earlier one is armed. */
    private void arm() {
        long atNanos = heap[0].atNanos;
        LockRuntime.Timer later = armed;
        if (later != null && armedAtNanos - atNanos <= 0) {
            return;
        }
        boolean isThere = armedAt(atNanos);
        if (!isThere) {
            // Perhaps nothing else would arm it again.
            isThere = armedAt(atNanos);
        }
        if (isThere && later != null) {
            later.cancel();
        }
    }

    /** Arms a timer; false if none could be armed. */
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

    /** A timer that was cancelled too late fires as well and must leave the current one alone, or each such timer would go on for ever. */
    private void fire(long fired) {
        List<Entry> due = List.of();
        synchronized (this) {
            if (fired == generation) {
                armed = null;
            }
            try {
                due = takeDue();
            } catch (Error e) {
                LOG.error("the timed tasks of the lock client could not be processed; this is repeated", e);
            }
            if (size > 0) {
                arm();
            }
        }
        for (Entry entry : due) {
            try {
                entry.task.run();
            } catch (RuntimeException | Error e) {
                // Including an Error: the other entries are the renewals of other leases.
                LOG.error("a timed task of the lock client failed", e);
            }
        }
    }

    /** Called under the guard. */
    private List<Entry> takeDue() {
        List<Entry> due = new ArrayList<>();
        long nowNanos = runtime.nanoTime();
        while (size > 0 && heap[0].atNanos - nowNanos <= 0) {
            due.add(heap[0]);
            removeAt(0);
        }
        return due;
    }

    /** An entry of the heap; it knows its index, so that cancelling it is cheap. */
    private final class Entry implements LockRuntime.Timer {

        private final long atNanos;
        private final Runnable task;
        private int index;

        Entry(long atNanos, Runnable task) {
            this.atNanos = atNanos;
            this.task = task;
        }

        @Override
        public void cancel() {
            synchronized (TimerQueue.this) {
                if (index >= 0) {
                    removeAt(index);
                }
            }
        }
    }

    private void add(Entry entry) {
        if (size == heap.length) {
            heap = Arrays.copyOf(heap, 2 * size);
        }
        siftUp(size++, entry);
    }

    private void removeAt(int index) {
        heap[index].index = -1;
        Entry last = heap[--size];
        heap[size] = null;
        if (index == size) {
            return;
        }
        siftDown(index, last);
        if (heap[index] == last) {
            siftUp(index, last);
        }
    }

    private void siftUp(int from, Entry entry) {
        int index = from;
        while (index > 0) {
            int parent = (index - 1) / 2;
            if (heap[parent].atNanos - entry.atNanos <= 0) {
                break;
            }
            put(index, heap[parent]);
            index = parent;
        }
        put(index, entry);
    }

    private void siftDown(int from, Entry entry) {
        int index = from;
        while (2 * index + 1 < size) {
            int child = 2 * index + 1;
            if (child + 1 < size && heap[child + 1].atNanos - heap[child].atNanos < 0) {
                child++;
            }
            if (entry.atNanos - heap[child].atNanos <= 0) {
                break;
            }
            put(index, heap[child]);
            index = child;
        }
        put(index, entry);
    }

    private void put(int index, Entry entry) {
        heap[index] = entry;
        entry.index = index;
    }

    /** The number of waiting entries. */
    synchronized int size() {
        return size;
    }
}
