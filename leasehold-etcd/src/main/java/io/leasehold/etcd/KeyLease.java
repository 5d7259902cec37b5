package io.leasehold.etcd;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lease of etcd that keeps the key of a place; and the longer one under which the key is being put, because a lease
 * cannot be made longer.
 *
 * <p>It knows the time from which each lease may count, and whether a request that puts a key under it may still arrive
 * at the cluster. If none can, the lease is left to the next attempt at the end. Otherwise it is revoked, so that a
 * late request fails. An extension may arrive late, because the driver sends each one twice, the second after the
 * answer. It puts no key, and no attempt counts from it.
 *
 * <p>Safe for use by any thread; mutable state is guarded by {@code this}, and no call is made while it is held.
 */
final class KeyLease {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** A lease, and the knowledge of it; guarded by the outer {@code this}. */
    private static final class Known {
        /** The ttl with which it was requested; 0 if it is not for another attempt. */
        private final long seconds;

        private EtcdCalls.Leased leased;
        /** When it was granted, to any attempt. */
        private final long bornNanos;
        /** When the request was sent that granted or last extended it. */
        private long fromNanos;
        /** The unanswered requests that put a key under it, under way or lost. */
        private int puts;
        /** Its unanswered extensions, under way or lost. */
        private int extensions;
        /** Whether a request was made to put a key under it. */
        private boolean used;

        Known(EtcdCalls.Leased leased, long seconds, long bornNanos, long fromNanos) {
            this.leased = leased;
            this.seconds = seconds;
            this.bornNanos = bornNanos;
            this.fromNanos = fromNanos;
        }

        /**
         * Whether no key is under it, and no request that is under way names it.
         *
         * @param deleted whether the attempt itself has deleted the key that it had put there
         */
        boolean isClean(boolean deleted) {
            return seconds > 0 && puts == 0 && extensions == 0 && (deleted || !used);
        }

        /** Whether a request that is under way may put a key there. */
        boolean isInDoubt() {
            return seconds == 0 || puts > 0;
        }
    }

    private final EtcdCalls etcd;
    private final LockRuntime runtime;
    private final LeasePool pool;
    private final long unsureNanos;

    private @Nullable Known current;

    /** The lease that an unanswered put names; the key may be under it or under the current one. */
    private @Nullable Known next;

    /**
     * The ids of the leases that are no longer needed, and whose revocation is unanswered: a late request may put a key
     * there.
     */
    private final List<Long> leaving = new ArrayList<>();

    /** The latest end of any lease that was granted or extended; it never decreases. */
    private long goneAtNanos;

    KeyLease(EtcdCalls etcd, LockRuntime runtime, EtcdUri uri, LeasePool pool) {
        this.etcd = etcd;
        this.runtime = runtime;
        this.pool = pool;
        this.unsureNanos = uri.electionTimeout().toNanos();
        this.goneAtNanos = runtime.nanoTime();
    }

    /** The lease that keeps the key or is about to; null if there is none. */
    synchronized EtcdCalls.@Nullable Leased current() {
        return current == null ? null : current.leased;
    }

    // ---- beginning

    /**
     * Obtains a lease that keeps the key for this time: one that an earlier attempt has left, or a new one.
     *
     * @param anew whether a new one is required
     * @return whether it is a new one; else it may have ended, and counts only once it was
     * {@linkplain #extend extended}
     */
    CompletableFuture<Boolean> obtain(long forNanos, boolean anew) {
        long seconds = secondsFor(forNanos);
        long sentAtNanos = runtime.nanoTime();
        LeasePool.Left left = anew ? null : pool.take(seconds);
        if (left != null) {
            EtcdCalls.Leased leased = left.leased();
            begin(new Known(leased, seconds, left.bornNanos(), sentAtNanos - leased.ttlNanos()), sentAtNanos);
            return CompletableFuture.completedFuture(false);
        }
        return etcd.lease(seconds).thenApply(leased -> {
            begin(new Known(leased, seconds, sentAtNanos, sentAtNanos), sentAtNanos);
            return true;
        });
    }

    private synchronized void begin(Known one, long sentAtNanos) {
        current = one;
        mayLive(one.leased, sentAtNanos);
    }

    private long secondsFor(long forNanos) {
        return (forNanos + unsureNanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND;
    }

    /** Sends a request that puts the key under the current lease. Unless it is answered, it may arrive at any time. */
    <T> CompletableFuture<T> putting(Supplier<CompletableFuture<T>> request) {
        Known one;
        synchronized (this) {
            one = current;
            if (one != null) {
                one.used = true;
                one.puts++;
            }
        }
        return request.get().whenComplete((answer, error) -> {
            if (one != null && error == null) {
                answered(one);
            }
        });
    }

    private synchronized void answered(Known one) {
        one.puts--;
    }

    /**
     * Takes over the lease under which the key turned out to be; nothing else is known of that lease. The key was made
     * for the same attempt, so {@link #goneAtNanos} assumes that the lease lives as long as the one that it replaces.
     */
    void takeOver(long id) {
        Known old;
        Known other;
        synchronized (this) {
            old = current;
            other = next != null && next.leased.id() == id ? null : next;
            long nowNanos = runtime.nanoTime();
            current = new Known(new EtcdCalls.Leased(id, 0), 0, nowNanos, nowNanos);
            next = null;
            leave(old);
            leave(other);
        }
        revokeInBackground(old);
        revokeInBackground(other);
    }

    // ---- extending

    /** Whether the lease has not ended by this client's clock. */
    synchronized boolean isSure() {
        return current != null && runtime.nanoTime() - current.fromNanos < current.leased.ttlNanos();
    }

    /** Whether an extension of the lease is enough for this time. */
    synchronized boolean isLongEnough(long forNanos) {
        return current != null && next == null && current.leased.ttlNanos() >= forNanos;
    }

    /**
     * Extends the lease; completes with whether it, or one that has replaced it in the meantime, still existed. A lease
     * that has ended is forgotten.
     */
    CompletableFuture<Boolean> extend() {
        Known one;
        long id;
        long sentAtNanos = runtime.nanoTime();
        synchronized (this) {
            one = current;
            if (one == null) {
                return CompletableFuture.completedFuture(false);
            }
            id = one.leased.id();
            one.extensions++;
            mayLive(one.leased, sentAtNanos);
        }
        return TimeLimit.start(() -> etcd.keepAlive(id)).thenApply(kept -> {
            synchronized (this) {
                one.extensions--;
                if (kept.isPresent()) {
                    mayLive(kept.get(), sentAtNanos);
                    one.leased = kept.get();
                    one.fromNanos = sentAtNanos;
                } else if (current == one) {
                    current = null;
                }
                return current != null;
            }
        });
    }

    /**
     * The time from which a ttl may count. A leader that is cut off may extend a lease for one more election timeout
     * without the new leader's knowledge, so that part of the lease is not sure.
     */
    synchronized long countedFromNanos(long forNanos) {
        if (current == null) {
            return runtime.nanoTime() - forNanos;
        }
        return current.fromNanos - Math.max(0, forNanos - (current.leased.ttlNanos() - unsureNanos));
    }

    /**
     * Obtains the lease under which the key is to be put. While the request that puts it there is unanswered, a copy of
     * it may still arrive. So that all copies agree, the lease is the same until the key is {@link #moved}, as long as
     * the lease lives. Calls must not overlap.
     */
    CompletableFuture<EtcdCalls.Leased> longer(long forNanos) {
        Known begun;
        long sentAtNanos = runtime.nanoTime();
        synchronized (this) {
            begun = next;
            if (begun != null) {
                mayLive(begun.leased, sentAtNanos);
            }
        }
        if (begun == null) {
            return etcd.lease(secondsFor(forNanos)).thenApply(leased -> beginNext(leased, sentAtNanos));
        }
        return etcd.keepAlive(begun.leased.id()).thenCompose(kept -> {
            if (kept.isPresent()) {
                return CompletableFuture.completedFuture(beginNext(kept.get(), sentAtNanos));
            }
            // The key went with it, or will never be under it: no copy of the request can succeed any more.
            synchronized (this) {
                next = null;
            }
            return longer(forNanos);
        });
    }

    /**
     * Notes the longer lease. No other attempt gets it, because a copy of the request that moves the key there may come
     * late.
     */
    private synchronized EtcdCalls.Leased beginNext(EtcdCalls.Leased leased, long sentAtNanos) {
        next = new Known(leased, 0, sentAtNanos, sentAtNanos);
        mayLive(leased, sentAtNanos);
        return leased;
    }

    /** Notes that the key is under the longer lease now; the old one is no longer needed. */
    void moved() {
        Known old;
        synchronized (this) {
            old = current;
            current = next;
            next = null;
            leave(old);
        }
        revokeInBackground(old);
    }

    /**
     * Notes that a lease may live for twice its ttl, because a request may be executed late, and a new leader restarts
     * each lease.
     */
    private synchronized void mayLive(EtcdCalls.Leased leased, long sentAtNanos) {
        long endNanos = sentAtNanos + 2 * leased.ttlNanos();
        if (endNanos - goneAtNanos > 0) {
            goneAtNanos = endNanos;
        }
    }

    /** The latest time by which each lease that may keep the key, and was not revoked, has ended by itself. */
    synchronized long goneAtNanos() {
        return goneAtNanos;
    }

    // ---- ending

    private synchronized void leave(@Nullable Known one) {
        if (one != null) {
            leaving.add(one.leased.id());
        }
    }

    /** Revokes a lease without waiting. If that fails, the {@linkplain #end end} of the attempt repeats it. */
    @SuppressWarnings("FutureReturnValueIgnored")
    private void revokeInBackground(@Nullable Known one) {
        if (one != null) {
            revoke(one.leased.id());
        }
    }

    private CompletableFuture<Boolean> revoke(long id) {
        return TimeLimit.start(() -> etcd.revoke(id)).thenApply(was -> {
            synchronized (this) {
                leaving.remove(id);
            }
            return was;
        });
    }

    /** Notes that this lease has ended at the cluster: no key can be put under it any more. */
    synchronized void forget(long id) {
        if (current != null && current.leased.id() == id) {
            current = null;
        }
    }

    /**
     * Ends the attempt, which puts no key any more. If each request that names the lease was answered, the lease is
     * left to the next attempt. Otherwise it is revoked, like each other lease that the attempt has had. The result
     * waits for a revocation only if a key may still be put under that lease.
     *
     * @param deleted whether the attempt has just deleted its key, by a request that was answered
     * @return completes once no key of the attempt can be made any more; fails if that is not sure
     */
    CompletableFuture<Boolean> end(boolean deleted) {
        Known last;
        boolean isClean;
        List<Long> doubtful;
        synchronized (this) {
            last = current;
            isClean = last != null && next == null && last.isClean(deleted);
            if (last != null && (next != null || last.isInDoubt()) && !isClean) {
                leave(last);
                last = null;
            }
            leave(next);
            current = null;
            next = null;
            doubtful = List.copyOf(leaving);
        }
        if (last != null && isClean) {
            pool.giveBack(last.seconds, new LeasePool.Left(last.leased, last.bornNanos));
        } else {
            revokeInBackground(last);
        }
        return CompletableFuture.allOf(doubtful.stream().map(this::revoke).toArray(CompletableFuture<?>[]::new))
                .thenApply(answers -> true);
    }
}
