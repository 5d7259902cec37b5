package io.leasehold.etcd;

import io.leasehold.spi.RenewReply;
import io.leasehold.spi.toolkit.EntryRequests;
import io.leasehold.spi.toolkit.KeptUntil;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The key of a holder: how long it is kept, its renewals, and what tells that it was taken away.
 *
 * <p>Safe for use by any thread.
 */
final class HeldKey {

    /** Shorter holds are not watched: that would cost more than it tells. */
    private static final long WATCHED_AFTER_NANOS = Duration.ofMillis(200).toNanos();

    private final QueueEntry.Shared shared;
    private final AttemptKey own;
    private final EntryRequests requests;
    private final KeptUntil kept;
    private final OwnKey watch;

    /** When our key was seen last: what happens to it happens later. */
    private volatile long seenAtRevision;

    HeldKey(
            QueueEntry.Shared shared,
            AttemptKey own,
            EntryRequests requests,
            KeptUntil kept,
            OwnKey.Listener listener) {
        this.shared = shared;
        this.own = own;
        this.requests = requests;
        this.kept = kept;
        this.watch = new OwnKey(shared.etcd(), shared.runtime(), own, listener);
    }

    /** The key was there at this revision of the cluster. */
    void seenAt(long revision) {
        seenAtRevision = revision;
    }

    /**
     * It holds for this ttl.
     *
     * @param begins whether it had not held before
     * @return when its validity counts from
     */
    long granted(long made, boolean begins, long ttlNanos) {
        long fromNanos = own.lease().countedFromNanos(ttlNanos);
        if (begins) {
            kept.exactly(fromNanos + ttlNanos);
            shared.runtime().schedule(WATCHED_AFTER_NANOS, () -> guard(made));
        } else {
            kept.atLeast(fromNanos + ttlNanos);
        }
        return fromNanos;
    }

    /** Extends the lease, or puts the key under a longer one, and looks whether the key is still there. */
    CompletableFuture<RenewReply.Item> renew(long forNanos) {
        Long made = own.place().held();
        if (made == null) {
            return done(new RenewReply.NotOurs());
        }
        return own.lease().isLongEnough(forNanos)
                ? extend(made, forNanos)
                : requests.inTurn(() -> move(made, forNanos));
    }

    private CompletableFuture<RenewReply.Item> extend(long made, long forNanos) {
        return own.lease()
                .extend()
                .thenCombine(
                        shared.etcd().look(own.key(), made, own.queue()),
                        (there, found) ->
                                there && found.isThere() ? renewed(made, found, forNanos) : new RenewReply.NotOurs());
    }

    private RenewReply.Item renewed(long made, EtcdCalls.Looked found, long forNanos) {
        if (!own.place().isHeldWith(made)) {
            return new RenewReply.NotOurs();
        }
        seenAtRevision = found.revision();
        long fromNanos = own.lease().countedFromNanos(forNanos);
        kept.atLeast(fromNanos + forNanos);
        guard(made);
        return new RenewReply.Renewed(fromNanos);
    }

    /** Puts the key under a longer lease. Nothing is told before that is answered; if it is not, the next renewal repeats it. */
    private CompletableFuture<RenewReply.Item> move(long made, long forNanos) {
        if (own.lease().isLongEnough(forNanos)) {
            return extend(made, forNanos); // Another renewal has done it meanwhile.
        }
        return own.place().isHeldWith(made)
                ? own.lease().longer(forNanos).thenCompose(longer -> moveTo(longer, made, forNanos))
                : done(new RenewReply.NotOurs());
    }

    private CompletableFuture<RenewReply.Item> moveTo(EtcdCalls.Leased longer, long made, long forNanos) {
        if (!own.place().isHeldWith(made)) {
            return done(new RenewReply.NotOurs()); // The removal, whose turn comes, ends both leases.
        }
        return shared.etcd().move(own.key(), made, own.value(), longer.id()).thenApply(moved -> {
            if (!moved.isThere()) {
                return new RenewReply.NotOurs(); // The key is gone.
            }
            own.lease().moved();
            return renewed(made, moved, forNanos);
        });
    }

    private void guard(long made) {
        watch.guard(made, seenAtRevision + 1);
    }

    /** Watches no more. */
    void close() {
        watch.close();
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
