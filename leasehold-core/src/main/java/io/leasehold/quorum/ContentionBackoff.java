package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.Repetition;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Decides when a client retries by itself. After split votes: a random time, 1 to 4 × the measured round, at least
 * 10 ms, doubling to 1 s. After the wake-ups of several nodes: once, a little later, so that clients do not all ask at the
 * same moment. A client that releases a lock is always faster than its waiters, so it lets them go first: 2 to 3 rounds, at
 * most 20 ms. Guarded by itself.
 */
final class ContentionBackoff {

    private static final long MIN_NANOS = 10_000_000L;
    private static final long MAX_NANOS = 1_000_000_000L;

    /** The longest time between the first node's wake-up and the release at the other nodes: about a round. */
    private static final long MAX_SPREAD_NANOS = 4_000_000L;

    /** The longest delay of a client that has released a lock with waiters. */
    private static final long MAX_COURTESY_NANOS = 20_000_000L;

    private static final long FIRST_ROUND_NANOS = 2_000_000L;
    private static final int MAX_COURTESIES = 10_000;

    private final LockRuntime runtime;
    private final Consumer<LockName> wake;
    private final Map<OwnerToken, Integer> losses = new HashMap<>();
    private final Map<LockName, LockRuntime.Timer> pending = new HashMap<>();
    /** Until when the woken clients go first. */
    private final Map<LockName, Long> courtesies = new HashMap<>();

    private long roundNanos = FIRST_ROUND_NANOS;
    private boolean closed;

    ContentionBackoff(LockRuntime runtime, Consumer<LockName> wake) {
        this.runtime = runtime;
        this.wake = wake;
    }

    /** The votes of an attempt were split. */
    synchronized void later(OwnerToken attempt, LockName name, long lostRoundNanos) {
        int lost = losses.merge(attempt, 1, Integer::sum) - 1;
        long base = Repetition.pauseNanos(Math.max(MIN_NANOS, lostRoundNanos), MAX_NANOS / 4, lost);
        schedule(name, base + runtime.randomBelow(3 * base));
    }

    /** An attempt received another answer: its delays start over. */
    synchronized void done(OwnerToken attempt) {
        losses.remove(attempt);
    }

    /** The number of attempts with recorded delays. */
    synchronized int remembered() {
        return losses.size();
    }

    /** A node signals that a lock may be free. */
    synchronized void woken(LockName name) {
        if (!pending.containsKey(name)) {
            schedule(name, 1 + runtime.randomBelow(Math.min(MAX_SPREAD_NANOS, roundNanos)));
        }
    }

    /** Records the duration of a round. */
    synchronized void measured(long nanos) {
        // It never falls below 1: at most an eighth is subtracted.
        roundNanos += (Math.max(1, nanos) - roundNanos) / 8;
    }

    /** This client has released a lock for which others wait. */
    synchronized void awaited(LockName name) {
        if (courtesies.size() >= MAX_COURTESIES) {
            courtesies.clear();
        }
        long pauseNanos = Math.min(MAX_COURTESY_NANOS, 2 * roundNanos + runtime.randomBelow(roundNanos));
        courtesies.put(name, runtime.nanoTime() + pauseNanos);
    }

    /** How long to wait before requesting this lock, so that the woken clients go first; returned once. */
    synchronized long courtesyNanos(LockName name) {
        Long untilAtNanos = courtesies.isEmpty() ? null : courtesies.remove(name);
        return untilAtNanos == null ? 0 : Math.max(0, untilAtNanos - runtime.nanoTime());
    }

    private void schedule(LockName name, long delayNanos) {
        if (closed) {
            return;
        }
        LockRuntime.Timer before = pending.remove(name);
        if (before != null) {
            before.cancel();
        }
        pending.put(name, runtime.schedule(delayNanos, () -> fire(name)));
    }

    private void fire(LockName name) {
        synchronized (this) {
            pending.remove(name);
        }
        wake.accept(name);
    }

    synchronized void close() {
        closed = true;
        pending.values().forEach(LockRuntime.Timer::cancel);
        pending.clear();
        losses.clear();
        courtesies.clear();
    }
}
