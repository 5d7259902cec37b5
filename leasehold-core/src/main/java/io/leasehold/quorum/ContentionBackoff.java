package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.toolkit.Repetition;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Decides when a client retries. After split votes it waits for a random time: 1 to 4 × the measured round, at least 10
 * ms, doubling to 1 s. A wake-up shortens that pause, since a node wakes the first waiter, which may find the lock free
 * while the others still wait. The new pause is random, and its upper bound grows after each split, since the undo of a
 * split round also wakes clients. After the wake-ups of several nodes the client retries once, slightly later, so that
 * clients do not all ask at the same moment. A client that releases a lock is always faster than its waiters. Therefore
 * it lets them go first: it waits for 2 to 3 rounds, at most 20 ms. Guarded by {@code this}.
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
    private final Map<LockName, Retry> pending = new HashMap<>();
    /** The time until which the woken clients go first. */
    private final Map<LockName, Long> courtesies = new HashMap<>();

    private long roundNanos = FIRST_ROUND_NANOS;
    private boolean closed;

    /**
     * The next request for a lock.
     *
     * @param isWoken whether a wake-up has set the time of the request
     * @param spreadNanos the upper bound of the random delay after a wake-up
     */
    private record Retry(LockRuntime.Timer timer, long atNanos, boolean isWoken, long spreadNanos) {}

    ContentionBackoff(LockRuntime runtime, Consumer<LockName> wake) {
        this.runtime = runtime;
        this.wake = wake;
    }

    /** Schedules the next retry after the votes of an attempt were split. */
    synchronized void later(OwnerToken attempt, LockName name, long lostRoundNanos) {
        int lost = losses.merge(attempt, 1, Integer::sum) - 1;
        long base = Repetition.pauseNanos(Math.max(MIN_NANOS, lostRoundNanos), MAX_NANOS / 4, lost);
        long spreadNanos = Repetition.pauseNanos(spreadNanos(), MAX_NANOS / 4, lost);
        Retry next = pending.get(name);
        boolean isWoken = next != null && next.isWoken();
        long delayNanos = isWoken ? lotNanos(spreadNanos) : base + runtime.randomBelow(3 * base);
        schedule(name, delayNanos, isWoken, spreadNanos);
    }

    /** The time within which a woken client retries: about a round. */
    private long spreadNanos() {
        return Math.min(MAX_SPREAD_NANOS, roundNanos);
    }

    private long lotNanos(long spreadNanos) {
        return 1 + runtime.randomBelow(spreadNanos);
    }

    /** Notes that an attempt received another answer, so that its delays start over. */
    synchronized void done(OwnerToken attempt) {
        losses.remove(attempt);
    }

    /** The number of attempts with recorded delays. */
    synchronized int remembered() {
        return losses.size();
    }

    /** Schedules a retry after a node has signalled that a lock may be free. */
    synchronized void woken(LockName name) {
        Retry next = pending.get(name);
        if (next == null) {
            schedule(name, lotNanos(spreadNanos()), true, spreadNanos());
        } else if (!next.isWoken()) {
            long leftNanos = Math.max(0, next.atNanos() - runtime.nanoTime());
            schedule(name, Math.min(leftNanos, lotNanos(next.spreadNanos())), true, next.spreadNanos());
        }
    }

    /** Records the duration of a round. */
    synchronized void measured(long nanos) {
        // The value never falls below 1, since at most an eighth is subtracted.
        roundNanos += (Math.max(1, nanos) - roundNanos) / 8;
    }

    /** Notes that this client has released a lock for which other clients wait. */
    synchronized void awaited(LockName name) {
        if (courtesies.size() >= MAX_COURTESIES) {
            courtesies.clear();
        }
        long pauseNanos = Math.min(MAX_COURTESY_NANOS, 2 * roundNanos + runtime.randomBelow(roundNanos));
        courtesies.put(name, runtime.nanoTime() + pauseNanos);
    }

    /** The delay before a request for this lock, so that the woken clients go first. It is returned only once. */
    synchronized long courtesyNanos(LockName name) {
        Long untilAtNanos = courtesies.isEmpty() ? null : courtesies.remove(name);
        return untilAtNanos == null ? 0 : Math.max(0, untilAtNanos - runtime.nanoTime());
    }

    private void schedule(LockName name, long delayNanos, boolean isWoken, long spreadNanos) {
        if (closed) {
            return;
        }
        Retry before = pending.remove(name);
        if (before != null) {
            before.timer().cancel();
        }
        LockRuntime.Timer timer = runtime.schedule(delayNanos, () -> fire(name));
        pending.put(name, new Retry(timer, runtime.nanoTime() + delayNanos, isWoken, spreadNanos));
    }

    private void fire(LockName name) {
        synchronized (this) {
            pending.remove(name);
        }
        wake.accept(name);
    }

    synchronized void close() {
        closed = true;
        pending.values().forEach(retry -> retry.timer().cancel());
        pending.clear();
        losses.clear();
        courtesies.clear();
    }
}
