package io.leasehold.etcd;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The lease of etcd that keeps the key of a place; and the longer one under which the key is being put, since a lease cannot be
 * made longer.
 *
 * <p>Knows from when each may be counted, and whether a request that puts a key under it may still arrive at the cluster. Where none
 * can, it is left to the next attempt at the end; else it is revoked, so that what comes late fails. An extension may arrive late
 * (the driver sends each one twice, the second after the answer): it puts nothing, and nobody counts from it.
 *
 * <p>Safe for use by any thread; what changes is guarded by {@code this}, and nobody is called while it is held.
 */
final class KeyLease {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    /** A lease, and what is known of it; guarded by the outer {@code this}. */
    private static final class Known {
        /** The ttl that it was asked for with; 0 if it is not for another attempt. */
        private final long seconds;

        private EtcdCalls.Leased leased;
        /** When it was granted, to whichever attempt. */
        private final long bornNanos;
        /** When the request was sent that granted or last extended it. */
        private long fromNanos;
        /** The requests that put a key under it and were not answered, be they under way or lost. */
        private int puts;
        /** The same of its extensions. */
        private int extensions;
        /** Whether a key was asked to be put under it. */
        private boolean used;

        Known(EtcdCalls.Leased leased, long seconds, long bornNanos, long fromNanos) {
            this.leased = leased;
            this.seconds = seconds;
            this.bornNanos = bornNanos;
            this.fromNanos = fromNanos;
        }

        /**
         * Whether nothing is under it, and nothing that is under way names it.
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

    /** The lease that a put under way names; the key may be under it or under the current one. */
    private @Nullable Known next;

    /** The numbers of those that are not needed any more, and whose revocation was not answered: a late request may put a key there. */
    private final List<Long> leaving = new ArrayList<>();

    /** The latest end of whatever was granted or extended; it never goes back. */
    private long goneAtNanos;

    KeyLease(EtcdCalls etcd, LockRuntime runtime, EtcdUri uri, LeasePool pool) {
        this.etcd = etcd;
        this.runtime = runtime;
        this.pool = pool;
        this.unsureNanos = uri.electionTimeout().toNanos();
        this.goneAtNanos = runtime.nanoTime();
    }

    /** The lease that the key is to be put under, or is under; null if there is none. */
    synchronized EtcdCalls.@Nullable Leased current() {
        return current == null ? null : current.leased;
    }

    // ---- beginning

    /**
     * Takes a lease that keeps the key for so long: one that an earlier attempt has left, or a new one.
     *
     * @param anew whether a new one is wanted in any case
     * @return whether it is a new one; else it may have ended, and counts only once it was {@linkplain #extend extended}
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

    /** Sends a request that puts the key under the current lease. Unless it is answered, it may come at any time. */
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
     * The key turned out to be under this one, of which no more is known. It was made for the same attempt: {@link #goneAtNanos} takes it
     * to live as long as the one that it replaces.
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

    /** Whether it has not ended by our clock. */
    synchronized boolean isSure() {
        return current != null && runtime.nanoTime() - current.fromNanos < current.leased.ttlNanos();
    }

    /** Whether extending it is enough for so long. */
    synchronized boolean isLongEnough(long forNanos) {
        return current != null && next == null && current.leased.ttlNanos() >= forNanos;
    }

    /** Extends it; whether it, or one that has taken its place meanwhile, was still there. One that has ended is forgotten. */
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
     * From when a ttl may be counted. A leader that is cut off may extend a lease for an election timeout more without the new
     * leader's knowing: so much of it is not sure.
     */
    synchronized long countedFromNanos(long forNanos) {
        if (current == null) {
            return runtime.nanoTime() - forNanos;
        }
        return current.fromNanos - Math.max(0, forNanos - (current.leased.ttlNanos() - unsureNanos));
    }

    /**
     * The lease under which the key is to be put. While the request that puts it there is not answered, a copy of it may still come:
     * so that all copies agree, it is the same lease until it is {@link #moved}, as long as that lives. Not for two at a time.
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

    /** It is not for another attempt: a copy of the request that moves the key there may come late. */
    private synchronized EtcdCalls.Leased beginNext(EtcdCalls.Leased leased, long sentAtNanos) {
        next = new Known(leased, 0, sentAtNanos, sentAtNanos);
        mayLive(leased, sentAtNanos);
        return leased;
    }

    /** The key is under the longer one now; the old one is not needed any more. */
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

    /** Twice its ttl, since a request may be carried out late, and a new leader begins each lease anew. */
    private synchronized void mayLive(EtcdCalls.Leased leased, long sentAtNanos) {
        long endNanos = sentAtNanos + 2 * leased.ttlNanos();
        if (endNanos - goneAtNanos > 0) {
            goneAtNanos = endNanos;
        }
    }

    /** When what was not revoked has ended by itself, at the latest: each lease under which the key may be. */
    synchronized long goneAtNanos() {
        return goneAtNanos;
    }

    // ---- ending

    private synchronized void leave(@Nullable Known one) {
        if (one != null) {
            leaving.add(one.leased.id());
        }
    }

    /** If it fails, the {@linkplain #end end} of the attempt repeats it. */
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

    /** This one has ended at the cluster: nothing can be put under it any more. */
    synchronized void forget(long id) {
        if (current != null && current.leased.id() == id) {
            current = null;
        }
    }

    /**
     * The attempt is over, and puts nothing any more. Leaves the lease to the next one if each request that names it was
     * answered; else revokes it, and each other one that it has had. That is waited for only where a key may still be put under it.
     *
     * @param deleted whether the attempt has just deleted its key, by a request that was answered
     * @return completes once nothing of it can be made any more; fails if that is not sure
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
