package io.leasehold.engine;

import io.leasehold.spi.InlineThread;
import io.leasehold.spi.LockRuntime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The single timer of a client: a heap holds all its tasks, and at most one timer of the runtime is armed for them.
 *
 * <p>The armed timer stays when a task is cancelled or a later one is added, so that acquiring and releasing locks all
 * day does not wake the timer thread. A cancelled task leaves the heap at once: a million past leases leave nothing
 * behind.
 *
 * <p>{@code this} guards the fields; tasks run outside of the guard, on the runtime's timer thread.
 */
final class TimerQueue {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** The delay after which a failed check is repeated. */
    static final long CHECK_AGAIN_NANOS = 100_000_000;

    /** A task that is armed for one time at most, and may be armed again. */
    abstract static class Task extends TimerHeap.Entry {

        /** Called at its time, unless the task was disarmed or armed for another time before. */
        abstract void due();

        /**
         * Returns how much earlier it may be called if the timer thread runs anyway: that thread is woken once for many
         * renewals, not for each. Called under the guard of the queue: takes no lock.
         *
         * @param withOthers whether it is called with another task that gives a leeway here: renewals that are called
         *     together share a request
         */
        long leewayNanos(boolean withOthers) {
            return 0;
        }
    }

    /** The most tasks that are called early with others: about as many as share a request to a store. */
    static final int MOST_TOGETHER = 200;

    private static final Queue<Task> NONE = new ArrayDeque<>(0);

    private final LockRuntime runtime;
    private final TimerHeap<Task> heap = new TimerHeap<>();

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

    /**
     * Schedules a duty that nothing else repeats: if an Error meets that, schedules it once more. Otherwise, the duty
     * would end with that Error.
     *
     * @param schedule computes the delay and schedules the duty
     */
    static LockRuntime.Timer duty(Supplier<LockRuntime.Timer> schedule) {
        try {
            return schedule.get();
        } catch (RuntimeException | Error e) {
            LockRuntime.Timer timer = schedule.get();
            LOG.error("a duty of the lock client was scheduled at the second try", e);
            return timer;
        }
    }

    /** Runs the task once, {@code delayNanos} from now. */
    LockRuntime.Timer schedule(long delayNanos, Runnable task) {
        return scheduleAt(runtime.nanoTime() + Math.max(0, Math.min(delayNanos, Long.MAX_VALUE / 4)), task);
    }

    /** Runs the task once, at this time. */
    LockRuntime.Timer scheduleAt(long atNanos, Runnable task) {
        Once once = new Once(task);
        try {
            arm(once, atNanos);
        } catch (RuntimeException | Error e) {
            // The caller may schedule it again.
            disarm(once);
            throw e;
        }
        return once;
    }

    /** Arms the task for this time, instead of the time for which it is armed, if any. */
    synchronized void arm(Task task, long atNanos) {
        heap.put(task, atNanos);
        if (heap.first() == task || armed == null) {
            arm();
        }
    }

    /** Disarms the task, if it is armed. */
    synchronized void disarm(Task task) {
        heap.remove(task);
    }

    /**
     * Arms a timer for the first task; called under the guard. The later timer stays until the earlier one is armed.
     */
    private void arm() {
        Task first = heap.first();
        if (first == null) {
            return;
        }
        long atNanos = first.atNanos();
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
            // The tasks stay: the next one that is added or fires arms a timer for all of them.
            LOG.error("no timer of the lock client could be armed", e);
            return false;
        }
    }

    /**
     * Runs the due tasks. A timer that was cancelled too late fires, too, and must not affect the current one:
     * otherwise, each such timer would continue forever.
     *
     * <p>An Error may leave this at any statement, since even the log needs memory. The tasks that it keeps from
     * running go back: one of them may be all that a lease has for its renewals and its end.
     */
    private void fire(long fired) {
        Queue<Task> due = NONE;
        try {
            synchronized (this) {
                try {
                    if (fired == generation) {
                        armed = null;
                    }
                    due = new ArrayDeque<>();
                    takeDue(due);
                } catch (Error e) {
                    LOG.error("the timed tasks of the lock client could not be processed; this is repeated", e);
                } finally {
                    arm();
                }
            }
            Queue<Task> tasks = due;
            InlineThread.run(() -> runAll(tasks));
        } finally {
            if (!due.isEmpty()) {
                putBack(due);
            }
        }
    }

    /** Runs each task, even after a failure: the others are the renewals of other leases. */
    private static void runAll(Queue<Task> tasks) {
        for (Task task; (task = tasks.poll()) != null; ) {
            Futures.guarded("a timed task", task::due);
        }
    }

    /** Arms each task again for the time at which it was due, or for the time for which it was armed meanwhile. */
    private synchronized void putBack(Queue<Task> tasks) {
        try {
            for (Task task; (task = tasks.poll()) != null; ) {
                heap.put(task, task.atNanos());
            }
        } finally {
            arm();
        }
    }

    /** Takes the due tasks; called under the guard. The queue keeps the tasks that were taken before an Error. */
    private void takeDue(Queue<Task> due) {
        long nowNanos = runtime.nanoTime();
        boolean withOthers = false;
        for (Task first; (first = heap.first()) != null && first.atNanos() - nowNanos <= first.leewayNanos(false); ) {
            due.add(first);
            heap.remove(first);
            withOthers |= first.leewayNanos(true) > 0;
        }
        if (withOthers && due.size() < MOST_TOGETHER) {
            takeOthers(due, nowNanos);
        }
    }

    /**
     * Takes tasks that may be called with these, among those at the top of the heap: they are about the earliest. A few
     * more would not reduce the requests, and many would delay other clients of the store.
     */
    private void takeOthers(Queue<Task> due, long nowNanos) {
        List<Task> others = new ArrayList<>();
        int most = MOST_TOGETHER - due.size();
        for (int i = 0; i < Math.min(heap.size(), 2 * MOST_TOGETHER) && others.size() < most; i++) {
            Task other = heap.get(i);
            if (other.atNanos() - nowNanos <= other.leewayNanos(true)) {
                others.add(other);
            }
        }
        for (Task other : others) {
            due.add(other);
            heap.remove(other);
        }
    }

    /** A task that runs once. */
    private final class Once extends Task implements LockRuntime.Timer {

        private final Runnable task;

        Once(Runnable task) {
            this.task = task;
        }

        @Override
        void due() {
            task.run();
        }

        @Override
        public void cancel() {
            disarm(this);
        }
    }

    /** Returns the number of armed tasks. */
    synchronized int size() {
        return heap.size();
    }
}
