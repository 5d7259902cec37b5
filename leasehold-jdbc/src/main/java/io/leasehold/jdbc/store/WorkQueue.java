package io.leasehold.jdbc.store;

import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What waits for the worker: what keeps and ends holds first, then what acquires, each in the order of arrival.
 *
 * <p>An acquire is never carried out after an ending of its owner token was queued: {@link #takeBackAcquire} takes it
 * out, and one that the worker has begun is over before the worker takes the ending.
 *
 * <p>All fields are guarded by {@code lock}; no task is completed while it is held.
 */
final class WorkQueue {

    /** So many acquires may wait; together they take the worker about a second. */
    static final int MOST_ACQUIRES = 20_000;

    /** So much else may wait: each hold has at most a renewal and an ending there. */
    static final int MOST_URGENT = 100_000;

    private final String store;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition notEmpty = lock.newCondition();
    private final Set<Task<?>> urgent = new LinkedHashSet<>();
    private final Set<Task<?>> acquires = new LinkedHashSet<>();
    private final Map<OwnerToken, Task<?>> acquiresByOwner = new HashMap<>();
    private final TimeLimits limits;
    private long shortestLimitNanos = Long.MAX_VALUE;
    private boolean closed;
    private volatile Supplier<@Nullable String> delayedBy = () -> null;

    WorkQueue(LockRuntime runtime, String store) {
        this.limits = new TimeLimits(runtime, this::timeIsUp);
        this.store = store;
    }

    /** Asked what delays the worker now, for the words of a request that was not answered in time; null for the usual. */
    void explainDelaysBy(Supplier<@Nullable String> words) {
        delayedBy = words;
    }

    /** The shortest time limit that was ever set for what acquires or keeps a hold. */
    long shortestLimitNanos() {
        lock.lock();
        try {
            return shortestLimitNanos;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Queues the task, whose future completes within the time limit.
     */
    <R> CompletableFuture<R> submit(Task<R> task, long limitNanos) {
        enqueue(task, limitNanos);
        return task.future();
    }

    /** Queues a task for whose end nobody waits. */
    void submit(Task<?> task) {
        enqueue(task, 0);
    }

    private void enqueue(Task<?> task, long limitNanos) {
        if (limitNanos > 0) {
            limits.add(task, limitNanos);
        }
        String refusal = enqueued(task, limitNanos);
        if (refusal != null) {
            limits.remove(task);
            task.fail(
                    FailureKind.NO_EFFECT, new StoreUnavailableException(task.what() + " at " + store + refusal, null));
        }
    }

    private @Nullable String enqueued(Task<?> task, long limitNanos) {
        lock.lock();
        try {
            OwnerToken owner = task.acquires();
            if (limitNanos > 0 && (owner != null || task.renews())) {
                shortestLimitNanos = Math.min(shortestLimitNanos, limitNanos);
            }
            Set<Task<?>> line = owner == null ? urgent : acquires;
            if (closed) {
                return ": the store is closed";
            }
            if (line.size() >= (owner == null ? MOST_URGENT : MOST_ACQUIRES)) {
                return ": " + line.size()
                        + " requests of this client already wait; slow down, or share locks less finely";
            }
            line.add(task);
            if (owner != null) {
                acquiresByOwner.put(owner, task);
            }
            notEmpty.signal();
            return null;
        } finally {
            lock.unlock();
        }
    }

    private void timeIsUp(Task<?> task, long limitNanos) {
        lock.lock();
        try {
            remove(task);
        } finally {
            lock.unlock();
        }
        String within = " was not answered within " + limitNanos / 1_000_000 + " ms";
        String why = delayedBy.get();
        task.timeIsUp(
                new StoreUnavailableException(
                        task.what() + " at " + store + within + " and was taken back: "
                                + (why == null ? "the database was busy with other transactions" : why),
                        null),
                new StoreUnavailableException(
                        task.what() + " at " + store + within + ": "
                                + (why == null ? "the database is slow to commit" : why),
                        null));
    }

    private void remove(Task<?> task) {
        OwnerToken owner = task.acquires();
        if (owner == null) {
            urgent.remove(task);
        } else if (acquires.remove(task)) {
            acquiresByOwner.remove(owner, task);
        }
    }

    /** Takes a waiting acquire of this owner token out, because the owner token is being ended. */
    void takeBackAcquire(OwnerToken owner) {
        Task<?> task;
        lock.lock();
        try {
            task = acquiresByOwner.remove(owner);
            if (task != null) {
                acquires.remove(task);
            }
        } finally {
            lock.unlock();
        }
        if (task != null) {
            limits.remove(task);
            task.takeBack(new StoreUnavailableException(task.what() + " at " + store + " was withdrawn", null));
        }
    }

    /** The worker is done with the task. */
    void finished(Task<?> task) {
        limits.remove(task);
    }

    /** The next task, waited for; null once the queue is closed. */
    @Nullable
    Task<?> take() {
        lock.lock();
        try {
            while (!closed) {
                Set<Task<?>> line = urgent.isEmpty() ? acquires : urgent;
                Iterator<Task<?>> first = line.iterator();
                if (first.hasNext()) {
                    Task<?> task = first.next();
                    remove(task);
                    return task;
                }
                notEmpty.awaitUninterruptibly();
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** The next task that keeps what is held, if one is here: it may overtake what ends other holds. */
    @Nullable
    Task<?> takeRenewal() {
        lock.lock();
        try {
            for (Task<?> task : urgent) {
                if (task.renews()) {
                    remove(task);
                    return task;
                }
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** Refuses everything from now on, and everything that waits. */
    void close() {
        List<Task<?>> left = new ArrayList<>();
        lock.lock();
        try {
            closed = true;
            left.addAll(urgent);
            left.addAll(acquires);
            urgent.clear();
            acquires.clear();
            acquiresByOwner.clear();
            notEmpty.signalAll();
        } finally {
            lock.unlock();
        }
        left.forEach(task -> task.takeBack(
                new StoreUnavailableException(task.what() + " at " + store + ": the store was closed", null)));
    }
}
