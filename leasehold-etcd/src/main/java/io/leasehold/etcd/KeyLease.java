package io.leasehold.etcd;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The lease of etcd that keeps the key of a place; and the longer one under which the key is being put, since a lease cannot be
 * made longer.
 *
 * <p>Knows from when each may be counted. Safe for use by any thread; what changes is guarded by {@code this}, and nobody is
 * called while it is held.
 */
final class KeyLease {

    private static final long NANOS_PER_SECOND = 1_000_000_000L;

    private final EtcdCalls etcd;
    private final LockRuntime runtime;
    private final long unsureNanos;

    private EtcdCalls.@Nullable Leased current;
    /** When the request was sent that granted or last extended it. */
    private long fromNanos;

    /** The lease that a put under way names; the key may be under it or under the current one. */
    private EtcdCalls.@Nullable Leased next;

    private long nextFromNanos;

    /** The latest end of whatever was granted or extended; it never goes back. */
    private long goneAtNanos;

    KeyLease(EtcdCalls etcd, LockRuntime runtime, EtcdUri uri) {
        this.etcd = etcd;
        this.runtime = runtime;
        this.unsureNanos = uri.electionTimeout().toNanos();
        this.goneAtNanos = runtime.nanoTime();
    }

    /** The lease that the key is to be put under, or is under; null if there is none. */
    synchronized EtcdCalls.@Nullable Leased current() {
        return current;
    }

    /** Asks for one that keeps the key for so long. */
    CompletableFuture<Boolean> grant(long forNanos) {
        long sentAtNanos = runtime.nanoTime();
        return etcd.lease(secondsFor(forNanos)).thenApply(leased -> {
            synchronized (this) {
                current = leased;
                fromNanos = sentAtNanos;
                mayLive(leased, sentAtNanos);
            }
            return true;
        });
    }

    private long secondsFor(long forNanos) {
        return (forNanos + unsureNanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND;
    }

    /**
     * The key turned out to be under this one, of which no more is known. It was made for the same attempt: {@link #goneAtNanos} takes it
     * to live as long as the one that it replaces.
     */
    synchronized void takeOver(long id) {
        current = new EtcdCalls.Leased(id, 0);
    }

    /** Whether it has not ended by our clock. */
    synchronized boolean isSure() {
        return current != null && runtime.nanoTime() - fromNanos < current.ttlNanos();
    }

    /** Whether extending it is enough for so long. */
    synchronized boolean isLongEnough(long forNanos) {
        return current != null && next == null && current.ttlNanos() >= forNanos;
    }

    /** Extends it; whether it, or one that has taken its place meanwhile, was still there. One that has ended is forgotten. */
    CompletableFuture<Boolean> extend() {
        EtcdCalls.Leased leased = current();
        if (leased == null) {
            return CompletableFuture.completedFuture(false);
        }
        long sentAtNanos = extending(leased);
        return TimeLimit.start(() -> etcd.keepAlive(leased.id())).thenApply(kept -> {
            synchronized (this) {
                kept.ifPresent(one -> mayLive(one, sentAtNanos));
                if (current != null && current.id() == leased.id()) {
                    current = kept.orElse(null);
                    fromNanos = sentAtNanos;
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
        long sureNanos = current == null ? 0 : current.ttlNanos() - unsureNanos;
        return fromNanos - Math.max(0, forNanos - sureNanos);
    }

    /**
     * The lease under which the key is to be put. While the request that puts it there is not answered, a copy of it may still come:
     * so that all copies agree, it is the same lease until {@link #movedTo}, as long as that lives. Not for two at a time.
     */
    CompletableFuture<EtcdCalls.Leased> longer(long forNanos) {
        EtcdCalls.Leased begun;
        synchronized (this) {
            begun = next;
        }
        if (begun == null) {
            long sentAtNanos = runtime.nanoTime();
            return etcd.lease(secondsFor(forNanos)).thenApply(leased -> begin(leased, sentAtNanos));
        }
        long sentAtNanos = extending(begun);
        return etcd.keepAlive(begun.id()).thenCompose(kept -> {
            if (kept.isPresent()) {
                return CompletableFuture.completedFuture(begin(kept.get(), sentAtNanos));
            }
            // The key went with it, or will never be under it: no copy of the request can succeed any more.
            synchronized (this) {
                next = null;
            }
            return longer(forNanos);
        });
    }

    private synchronized EtcdCalls.Leased begin(EtcdCalls.Leased leased, long sentAtNanos) {
        next = leased;
        nextFromNanos = sentAtNanos;
        mayLive(leased, sentAtNanos);
        return leased;
    }

    /** The key is under that one now; the old one is not needed any more. */
    void movedTo(EtcdCalls.Leased leased) {
        EtcdCalls.Leased old;
        synchronized (this) {
            old = current;
            current = leased;
            fromNanos = nextFromNanos;
            next = null;
        }
        if (old != null) {
            etcd.revoke(old.id());
        }
    }

    /** It is extended from now on, even if nobody hears of it. */
    private synchronized long extending(EtcdCalls.Leased leased) {
        long nowNanos = runtime.nanoTime();
        mayLive(leased, nowNanos);
        return nowNanos;
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

    /** Ends what there is, and with it the key. */
    CompletableFuture<Boolean> revoke() {
        EtcdCalls.Leased leased;
        EtcdCalls.Leased other;
        synchronized (this) {
            leased = current;
            other = next;
        }
        if (other != null) {
            etcd.revoke(other.id());
        }
        return leased == null ? CompletableFuture.completedFuture(false) : etcd.revoke(leased.id());
    }

    synchronized void forget() {
        current = null;
        next = null;
    }
}
