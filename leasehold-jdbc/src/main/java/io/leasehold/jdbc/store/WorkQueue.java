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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The tasks for the worker: renewals first, then the ends of holds and other requests, then acquires, each in the order
 * of arrival. Housekeeping comes when the worker is idle, or when none was done for long.
 *
 * <p>If another transaction is in the way of a task, the task stands aside and does not delay others.
 *
 * <p>An acquire is never carried out after an end of its owner token was queued: {@link #takeBackAcquire} removes it.
 * If the worker has begun its transaction, that transaction is over, or is not repeated, when the worker takes the end.
 *
 * <p>All fields are guarded by {@code this}; no task is completed while it is held.
 */
final class WorkQueue {

    /** The largest number of waiting acquires; together they take the worker about a second. */
    static final int MAX_ACQUIRES = 20_000;

    /** The largest number of other tasks: each hold has at most a renewal and an end there. */
    static final int MAX_URGENT = 100_000;

    /** The maximum number of other tasks that precede housekeeping. */
    private static final int MAX_BEFORE_HOUSEKEEPING = 16;

    private final LockRuntime runtime;
    private final String store;
    private final Set<Task<?>> renewals = new LinkedHashSet<>();
    private final Set<Task<?>> urgent = new LinkedHashSet<>();
    private final Set<Task<?>> acquires = new LinkedHashSet<>();
    private final Set<Task<?>> housekeeping = new LinkedHashSet<>();
    private final Set<Task<?>> aside = new LinkedHashSet<>();
    /** The acquires that wait, stand aside or are in progress. */
    private final Map<OwnerToken, Task<?>> acquiresByOwner = new HashMap<>();

    private final TimeLimits limits;
    private long shortestLimitNanos = Long.MAX_VALUE;
    private int takenBeforeHousekeeping;
    /** The arrival for which the worker waits, if it does. */
    private @Nullable CompletableFuture<Void> arrival;

    private boolean closed;
    private volatile Function<Task<?>, @Nullable String> delayedBy = task -> null;

    WorkQueue(LockRuntime runtime, String store) {
        this.runtime = runtime;
        this.limits = new TimeLimits(runtime, this::timeIsUp);
        this.store = store;
    }

    /**
     * Sets the source of the reason for a late answer to a task, as far as the worker knows one; otherwise the task
     * names what was in its way.
     */
    void explainDelaysBy(Function<Task<?>, @Nullable String> words) {
        delayedBy = words;
    }

    /** The shortest time limit so far of a task that acquires or keeps a hold. */
    synchronized long shortestLimitNanos() {
        return shortestLimitNanos;
    }

    /**
     * Queues the task, whose future completes within the time limit.
     */
    <R> CompletableFuture<R> submit(Task<R> task, long limitNanos) {
        enqueue(task, limitNanos);
        return task.future();
    }

    /** Queues a task whose end no caller awaits. */
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

    private synchronized @Nullable String enqueued(Task<?> task, long limitNanos) {
        OwnerToken owner = task.acquires();
        if (limitNanos > 0 && (owner != null || task.rank() == Task.Rank.RENEWAL)) {
            shortestLimitNanos = Math.min(shortestLimitNanos, limitNanos);
        }
        Set<Task<?>> line = line(task);
        if (closed) {
            return ": the store is closed";
        }
        if (line.size() >= (owner == null ? MAX_URGENT : MAX_ACQUIRES)) {
            return ": " + line.size() + " requests of this client already wait; slow down, or share locks less finely";
        }
        line.add(task);
        if (owner != null) {
            acquiresByOwner.put(owner, task);
        }
        wakeWorker();
        return null;
    }

    private Set<Task<?>> line(Task<?> task) {
        return switch (task.rank()) {
            case RENEWAL -> renewals;
            case REQUEST -> task.acquires() == null ? urgent : acquires;
            case HOUSEKEEPING -> housekeeping;
        };
    }

    /**
     * Sets the task aside: the worker continues with others, and takes this task up again later.
     *
     * @param pauseNanos the time after which it is queued again
     */
    void putAside(Task<?> task, long pauseNanos) {
        boolean refused;
        synchronized (this) {
            refused = closed;
            if (!refused && pauseNanos > 0) {
                aside.add(task);
            } else if (!refused) {
                line(task).add(task);
            }
        }
        if (refused) {
            finished(task);
            task.takeBack(closedError(task));
        } else if (pauseNanos > 0) {
            runtime.schedule(pauseNanos, () -> putBack(task));
        }
    }

    private synchronized void putBack(Task<?> task) {
        if (aside.remove(task)) {
            line(task).add(task);
            wakeWorker();
        }
    }

    private void timeIsUp(Task<?> task, long limitNanos) {
        synchronized (this) {
            if (line(task).remove(task) || aside.remove(task)) {
                forget(task);
            }
        }
        String within = task.what() + " at " + store + " was not answered within " + limitNanos / 1_000_000 + " ms";
        String known = reason(task);
        String why = known != null ? known : "the database is slow";
        String whyUnknown = known != null ? known : "the database is slow to commit";
        task.timeIsUp(
                new StoreUnavailableException(within + " and was taken back: " + why, null),
                new StoreUnavailableException(within + ": " + whyUnknown, null));
    }

    /** The reason why the task was not answered in time, if it is known. */
    private @Nullable String reason(Task<?> task) {
        String ofWorker = delayedBy.apply(task);
        if (ofWorker != null) {
            return ofWorker;
        }
        String hindrance = task.hindrance();
        if (hindrance != null) {
            return hindrance;
        }
        return task.isQueued() ? "the requests of this client before it took that long" : null;
    }

    private void forget(Task<?> task) {
        OwnerToken owner = task.acquires();
        if (owner != null) {
            acquiresByOwner.remove(owner, task);
        }
    }

    private StoreUnavailableException closedError(Task<?> task) {
        return new StoreUnavailableException(task.what() + " at " + store + ": the store was closed", null);
    }

    /** Removes an acquire of this owner token, because the owner token is being ended. */
    void takeBackAcquire(OwnerToken owner) {
        Task<?> task;
        synchronized (this) {
            task = acquiresByOwner.remove(owner);
            if (task != null) {
                acquires.remove(task);
                aside.remove(task);
            }
        }
        if (task != null) {
            task.withdraw(new StoreUnavailableException(task.what() + " at " + store + " was withdrawn", null));
            if (task.future().isDone()) {
                limits.remove(task);
            }
        }
    }

    /** Removes a task that the worker has finished, or could not set aside. */
    void finished(Task<?> task) {
        limits.remove(task);
        synchronized (this) {
            aside.remove(task);
            forget(task);
        }
    }

    /** Waits for the next task; returns null once the queue is closed. */
    @Nullable
    Task<?> take() {
        while (true) {
            CompletableFuture<Void> more = new CompletableFuture<>();
            synchronized (this) {
                if (closed) {
                    return null;
                }
                Iterator<Task<?>> first = nextLine().iterator();
                if (first.hasNext()) {
                    Task<?> task = first.next();
                    first.remove();
                    return task;
                }
                arrival = more;
            }
            runtime.awaitUninterruptibly(more);
        }
    }

    /** Called with the lock held. */
    private void wakeWorker() {
        CompletableFuture<Void> awaited = arrival;
        arrival = null;
        if (awaited != null) {
            awaited.complete(null);
        }
    }

    private Set<Task<?>> nextLine() {
        if (!renewals.isEmpty()) {
            return renewals;
        }
        Set<Task<?>> line = urgent.isEmpty() ? acquires : urgent;
        boolean isItsTurn = !housekeeping.isEmpty() && ++takenBeforeHousekeeping > MAX_BEFORE_HOUSEKEEPING;
        if (isItsTurn || line.isEmpty()) {
            takenBeforeHousekeeping = 0;
            return housekeeping;
        }
        return line;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Refuses all new and all waiting tasks. */
    void close() {
        List<Task<?>> left = new ArrayList<>();
        synchronized (this) {
            closed = true;
            for (Set<Task<?>> line : List.of(renewals, urgent, acquires, housekeeping, aside)) {
                left.addAll(line);
                line.clear();
            }
            acquiresByOwner.clear();
            wakeWorker();
        }
        left.forEach(task -> task.takeBack(closedError(task)));
    }
}
