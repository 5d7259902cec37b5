package io.leasehold.etcd;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The leases of etcd that ended attempts have left for the next ones. Granting a lease and revoking one are writes at
 * the cluster; extending one is not.
 *
 * <p>A lease in the pool keeps no key, and each request that could put a key under it was answered. The pool relies on
 * nothing else. The lease may have ended in the meantime, and the client's clock does not show how long the machine
 * slept. The attempt that takes the lease extends it, and counts from that extension. The pool does not extend a lease,
 * and revokes it after a third of its ttl.
 *
 * <p>The pool does not accept an old lease. If a key that this client does not know is under it, each use would prolong
 * that key.
 *
 * <p>Safe for use by any thread; no call is made while a lock of this class is held.
 */
final class LeasePool {

    /**
     * The largest number of leases. More would help only a client that releases more locks than this within a third of
     * a ttl before it acquires the next.
     */
    static final int MOST = 256;

    /** The greatest age of a lease that the pool accepts, in ttls of the lease. */
    static final int MOST_TTLS = 10;

    /**
     * A lease that an attempt has left.
     *
     * @param bornNanos when it was granted
     */
    record Left(EtcdCalls.Leased leased, long bornNanos) {}

    private record Idle(Left left, long seconds, long untilNanos) {}

    private final EtcdCalls etcd;
    private final LockRuntime runtime;
    /** The leases, the newest at the end; guarded by this, like the other fields. */
    private final Deque<Idle> idle = new ArrayDeque<>();

    private boolean armed;
    private boolean closed;

    LeasePool(EtcdCalls etcd, LockRuntime runtime) {
        this.etcd = etcd;
        this.runtime = runtime;
    }

    /**
     * Takes out a lease that was requested with this ttl; null if there is none. The pool gives each lease to one
     * attempt.
     */
    synchronized @Nullable Left take(long seconds) {
        long nowNanos = runtime.nanoTime();
        for (Iterator<Idle> newestFirst = idle.descendingIterator(); newestFirst.hasNext(); ) {
            Idle one = newestFirst.next();
            if (one.seconds() == seconds && one.untilNanos() - nowNanos > 0) {
                newestFirst.remove();
                return one.left();
            }
        }
        return null;
    }

    /**
     * Accepts a lease that keeps no key, and under which no request that is under way or was lost can put one. Never
     * throws, because the attempt that left the lease is over.
     *
     * @param seconds the ttl with which the lease was requested
     */
    void giveBack(long seconds, Left left) {
        boolean kept;
        synchronized (this) {
            long nowNanos = runtime.nanoTime();
            long ttlNanos = left.leased().ttlNanos();
            kept = !closed && idle.size() < MOST && (nowNanos - left.bornNanos()) / MOST_TTLS < ttlNanos;
            if (kept) {
                idle.addLast(new Idle(left, seconds, nowNanos + ttlNanos / 3));
            }
        }
        if (!kept) {
            revoke(left.leased());
            return;
        }
        try {
            arm();
        } catch (RuntimeException | Error e) {
            // The next lease that is left arms the timer; until then, the leases end by themselves.
        }
    }

    /** Arms one timer for all leases. A lease that the timer revokes late can no longer be taken. */
    private void arm() {
        long inNanos;
        synchronized (this) {
            if (armed || idle.isEmpty()) {
                return;
            }
            armed = true;
            long nowNanos = runtime.nanoTime();
            inNanos = idle.stream()
                    .mapToLong(one -> one.untilNanos() - nowNanos)
                    .min()
                    .orElseThrow();
        }
        try {
            runtime.schedule(inNanos, this::drop);
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                armed = false;
            }
            throw e;
        }
    }

    private void drop() {
        List<Idle> due;
        synchronized (this) {
            armed = false;
            long nowNanos = runtime.nanoTime();
            due = idle.stream().filter(one -> one.untilNanos() - nowNanos <= 0).toList();
            idle.removeAll(due);
        }
        due.forEach(one -> revoke(one.left().leased()));
        arm();
    }

    /** Revokes a lease. If that fails, the lease ends by itself; it keeps no key. */
    private CompletableFuture<Boolean> revoke(EtcdCalls.Leased leased) {
        return TimeLimit.start(() -> etcd.revoke(leased.id()));
    }

    /**
     * Revokes all leases in the pool, and each one that comes later. Completes with the last answer, and never fails.
     */
    CompletableFuture<Boolean> close() {
        List<Idle> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(idle);
            idle.clear();
        }
        return CompletableFuture.allOf(
                        left.stream().map(one -> revoke(one.left().leased())).toArray(CompletableFuture<?>[]::new))
                .handle((answers, error) -> error == null);
    }
}
