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
 * The leases of etcd that ended attempts have left for the next ones. Granting one and revoking one are writes at the cluster, and
 * extending one is none.
 *
 * <p>A lease in here keeps no key, and each request that could put one under it was answered. Nothing is believed of it: it may have
 * ended meanwhile, and the time for which a machine slept does not show on its clock. The attempt that takes it extends it and counts
 * from that. It is not extended in here, and is revoked after a third of its ttl.
 *
 * <p>An old one is not taken in. If ever a key is under it that nobody here knows of, each use would prolong that key.
 *
 * <p>Safe for use by any thread; nothing is called with a lock of this class held.
 */
final class LeasePool {

    /** More would help only a client that releases more locks than that within a third of a ttl before it acquires the next. */
    static final int MOST = 256;

    /** The greatest age of a lease that is taken in, in ttls of it. */
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
    /** The one that came last is at the end; guarded by this, as are the others. */
    private final Deque<Idle> idle = new ArrayDeque<>();

    private boolean armed;
    private boolean closed;

    LeasePool(EtcdCalls etcd, LockRuntime runtime) {
        this.etcd = etcd;
        this.runtime = runtime;
    }

    /** Takes one out that was asked for with this ttl; null if there is none. It is given to one attempt. */
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
     * Takes one in that keeps no key, and under which no request that is under way or was lost can put one. Never throws: what left
     * it is done.
     *
     * @param seconds the ttl that it was asked for with
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
            // The next one that is given back arms it; until then they end by themselves.
        }
    }

    /** One timer for all: what it finds too late can be taken no more. */
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

    /** If it fails, the lease ends by itself: it keeps nothing. */
    private CompletableFuture<Boolean> revoke(EtcdCalls.Leased leased) {
        return TimeLimit.start(() -> etcd.revoke(leased.id()));
    }

    /** Revokes what is in here, and each one that comes later; completes with the last answer, and never fails. */
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
