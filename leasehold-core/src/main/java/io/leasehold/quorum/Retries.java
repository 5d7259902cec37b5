package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreSignals;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * When to try again: after split votes a time drawn by lot, 1 to 4 × the measured round, at least 10 ms, doubling to 1 s;
 * after the wake-ups of several nodes once, a little later, so that not all try at one moment. Guarded by itself.
 */
final class Retries {

    private static final long LEAST_NANOS = 10_000_000L;
    private static final long MOST_NANOS = 1_000_000_000L;

    /** After the first node's wake-up the others free theirs within about a round. */
    private static final long WAKE_SPREAD_NANOS = 4_000_000L;

    private final LockRuntime runtime;
    private final Supplier<StoreSignals> signals;
    private final Map<Tenure, Integer> losses = new HashMap<>();
    private final Map<LockName, LockRuntime.Timer> pending = new HashMap<>();
    private boolean closed;

    Retries(LockRuntime runtime, Supplier<StoreSignals> signals) {
        this.runtime = runtime;
        this.signals = signals;
    }

    /** Votes of an attempt were split. */
    void later(Tenure tenure, LockName name, long roundNanos) {
        synchronized (this) {
            int lost = losses.merge(tenure, 1, Integer::sum) - 1;
            long base = Math.min(MOST_NANOS / 4, Math.max(LEAST_NANOS, roundNanos) << Math.min(lost, 7));
            schedule(name, base + runtime.randomBelow(3 * base), true);
        }
    }

    /** An attempt has been answered otherwise: it begins anew with its delays. */
    synchronized void done(Tenure tenure) {
        losses.remove(tenure);
    }

    /** A node says that a lock may be free. */
    synchronized void woken(LockName name) {
        if (!pending.containsKey(name)) {
            schedule(name, 1 + runtime.randomBelow(WAKE_SPREAD_NANOS), false);
        }
    }

    private void schedule(LockName name, long delayNanos, boolean replace) {
        if (closed) {
            return;
        }
        LockRuntime.Timer before = pending.get(name);
        if (before != null) {
            if (!replace) {
                return;
            }
            before.cancel();
        }
        pending.put(name, runtime.schedule(delayNanos, () -> fire(name)));
    }

    private void fire(LockName name) {
        synchronized (this) {
            pending.remove(name);
        }
        signals.get().wake(name);
    }

    synchronized void close() {
        closed = true;
        pending.values().forEach(LockRuntime.Timer::cancel);
        pending.clear();
        losses.clear();
    }
}
