package io.leasehold.jdbc.store;

import io.leasehold.spi.LockRuntime;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The time limits of all pending tasks, with one timer for all of them: a separate timer for each task would wake the
 * timer's thread at every request, although almost all are answered long before.
 *
 * <p>All fields are guarded by {@code this}; no task is notified while it is held.
 */
final class TimeLimits {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    /** Two checks of the limits are at least this far apart, so a task may reach its limit this much too early. */
    private static final long GRAIN_NANOS = 2_000_000L;

    private final LockRuntime runtime;
    private final ObjLongConsumer<Task<?>> timeIsUp;
    private final Map<Task<?>, Limit> limits = new LinkedHashMap<>();
    private LockRuntime.@Nullable Timer timer;
    private long timerAtNanos;

    private record Limit(long atNanos, long limitNanos) {}

    /**
     * Creates a table without limits.
     *
     * @param timeIsUp called with each task whose limit has passed, and its limit in nanoseconds
     */
    TimeLimits(LockRuntime runtime, ObjLongConsumer<Task<?>> timeIsUp) {
        this.runtime = runtime;
        this.timeIsUp = timeIsUp;
    }

    void add(Task<?> task, long limitNanos) {
        long atNanos = runtime.nanoTime() + limitNanos;
        synchronized (this) {
            limits.put(task, new Limit(atNanos, limitNanos));
            arm(atNanos);
        }
    }

    synchronized void remove(Task<?> task) {
        limits.remove(task);
    }

    /** Ensures that the timer fires at this time at the latest. */
    private void arm(long atNanos) {
        if (timer != null && timerAtNanos - atNanos <= 0) {
            return;
        }
        LockRuntime.Timer sooner = runtime.schedule(atNanos - runtime.nanoTime(), this::look);
        if (timer != null) {
            timer.cancel();
        }
        timerAtNanos = atNanos;
        timer = sooner;
    }

    private void look() {
        Map<Task<?>, Limit> up = new LinkedHashMap<>();
        try {
            takeOutWhatIsUp(up);
        } finally {
            up.forEach(this::tell);
        }
    }

    private void tell(Task<?> task, Limit limit) {
        try {
            timeIsUp.accept(task, limit.limitNanos());
        } catch (RuntimeException | Error e) {
            // The limits of others have passed, too.
            LOG.error("{} could not be notified that its time limit has passed", task.what(), e);
        }
    }

    private void takeOutWhatIsUp(Map<Task<?>, Limit> up) {
        long nowNanos = runtime.nanoTime();
        synchronized (this) {
            timer = null;
            Limit next = null;
            Iterator<Map.Entry<Task<?>, Limit>> left = limits.entrySet().iterator();
            while (left.hasNext()) {
                Map.Entry<Task<?>, Limit> entry = left.next();
                Limit limit = entry.getValue();
                if (limit.atNanos() - nowNanos <= GRAIN_NANOS) {
                    up.put(entry.getKey(), limit);
                    left.remove();
                } else if (next == null || limit.atNanos() - next.atNanos() < 0) {
                    next = limit;
                }
            }
            if (next != null) {
                arm(next.atNanos());
            }
        }
    }
}
