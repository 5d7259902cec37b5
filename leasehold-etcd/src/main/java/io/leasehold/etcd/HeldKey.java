package io.leasehold.etcd;

import io.leasehold.spi.RenewReply;
import io.leasehold.spi.toolkit.EntryRequests;
import io.leasehold.spi.toolkit.KeptUntil;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * The key of a holder: the time for which it is kept, its renewals, and the watch that reports its removal.
 *
 * <p>Safe for use by any thread.
 */
final class HeldKey {

    /** Shorter holds are not watched, because a watch would cost more than it is worth. */
    private static final long WATCHED_AFTER_NANOS = Duration.ofMillis(200).toNanos();

    private final QueueEntry.Shared shared;
    private final AttemptKey own;
    private final EntryRequests requests;
    private final KeptUntil kept;
    private final OwnKey watch;

    /** The revision at which the key was last seen; each event of the key comes later. */
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

    /** Notes that the key was there at this revision of the cluster. */
    void seenAt(long revision) {
        seenAtRevision = revision;
    }

    /**
     * Notes that the place holds for this ttl.
     *
     * @param begins whether it had not held before
     * @return the time from which its validity counts
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

    /** Extends the lease, or puts the key under a longer one, and checks whether the key still exists. */
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
                        shared.etcd().look(own.key(), made, own.queue(), 1),
                        (there, found) ->
                                there && found.isThere() ? renewed(made, found, forNanos) : new RenewReply.NotOurs());
    }

    private RenewReply.Item renewed(long made, EtcdCalls.Looked found, long forNanos) {
        if (!own.place().isHeldWith(made)) {
            return new RenewReply.NotOurs();
        }
        seenAtRevision = found.front().revision();
        long fromNanos = own.lease().countedFromNanos(forNanos);
        kept.atLeast(fromNanos + forNanos);
        guard(made);
        return new RenewReply.Renewed(fromNanos);
    }

    /**
     * Puts the key under a longer lease. The renewal is reported only after the answer. If no answer comes, the next
     * renewal repeats the request.
     */
    private CompletableFuture<RenewReply.Item> move(long made, long forNanos) {
        if (own.lease().isLongEnough(forNanos)) {
            return extend(made, forNanos); // Another renewal has done it in the meantime.
        }
        return own.place().isHeldWith(made)
                ? own.lease().longer(forNanos).thenCompose(longer -> moveTo(longer, made, forNanos))
                : done(new RenewReply.NotOurs());
    }

    private CompletableFuture<RenewReply.Item> moveTo(EtcdCalls.Leased longer, long made, long forNanos) {
        if (!own.place().isHeldWith(made)) {
            return done(new RenewReply.NotOurs()); // The removal, which is next in turn, ends both leases.
        }
        return shared.etcd().move(own.key(), made, own.value(), longer.id()).thenApply(moved -> {
            if (!moved.isThere()) {
                return new RenewReply.NotOurs(); // The key is gone.
            }
            own.lease().moved();
            return renewed(made, moved, forNanos);
        });
    }

    /**
     * Finishes putting the key under a longer lease, if that was begun.
     *
     * @return whether the place still holds, with the key under the current lease
     */
    CompletableFuture<Boolean> settle(long made, long forNanos) {
        return own.lease().isLongEnough(0)
                ? done(true)
                : move(made, forNanos).thenApply(RenewReply.Renewed.class::isInstance);
    }

    private void guard(long made) {
        watch.guard(made, seenAtRevision + 1);
    }

    /** Ends the watch. */
    void close() {
        watch.close();
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
