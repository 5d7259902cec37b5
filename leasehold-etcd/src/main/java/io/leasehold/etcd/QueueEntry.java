package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.EntryRequests;
import io.leasehold.spi.toolkit.KeptUntil;
import io.leasehold.spi.toolkit.QueuePlace;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: one key, kept by a lease of etcd that keeps no other
 * meanwhile.
 *
 * <p><b>Who holds</b> is told by the queue alone: the first in it does. A waiter asks when the key before its own has gone,
 * for whatever reason, and that is enough. Each key that goes by itself goes after the validity of its holder: a key that is
 * given back was dead to its holder before, one that nobody renewed is removed no earlier than a ttl after the request that the
 * validity counts from, and its lease outlives that span, too ({@link KeyLease#countedFromNanos}). What an operator deletes or revokes by
 * hand is a release by force.
 *
 * <p>What is sent for it is sent in turn, and nothing after the removal was asked for. The key is made only if it is not
 * there, so that asking again after a lost reply finds it. No late copy of a request makes it anew: either each one was answered
 * before the end, or the lease is revoked, under which no key can be made then ({@link KeyLease#end}). What follows from what was found is decided by {@link QueuePlace}. All fields that change are
 * guarded by {@code this}; nothing is called while it is held.
 */
final class QueueEntry {

    /** The parts that the places of a store share. */
    record Shared(
            EtcdUri uri,
            EtcdCalls etcd,
            LeasePool leases,
            Keys keys,
            QueueHeads heads,
            LockRuntime runtime,
            Events events) {}

    /** Hears of a place. */
    interface Events {
        /** Asking again may be worth it. */
        void woken(QueueEntry place);

        /** The key was taken away while it held. */
        void taken(QueueEntry place, LossCause cause);

        /** The watch of the key is broken while it holds. */
        void suspended(QueueEntry place);

        /** Nothing of it is left at the cluster. */
        void over(QueueEntry place);
    }

    private final Shared shared;
    private final EtcdCalls etcd;
    private final LockName name;
    private final OwnerToken owner;
    private final long ttlNanos;
    private final KeyLease lease;
    private final QueuePlace<Long> place;
    private final AttemptKey own;
    private final EntryRequests requests;
    /** The store removes the key by itself after this: nobody renewed or asked for it. */
    private final KeptUntil kept;

    private final HeldKey held;
    /** Whether a removal has ended a hold, and is not answered before nothing can come late. */
    private final AtomicBoolean wasHeld = new AtomicBoolean();

    /** The watch of the key before ours, while it stands. Its events alone count: one that was replaced may still have some. */
    private @Nullable KeyWatch awaiting;

    private LockRuntime.@Nullable Timer heartbeat;

    QueueEntry(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.etcd = shared.etcd;
        this.name = request.name();
        this.owner = request.owner();
        this.ttlNanos = request.ttlNanos();
        this.lease = new KeyLease(etcd, shared.runtime, shared.uri, shared.leases);
        this.place = new QueuePlace<>(name, shared.uri.toString());
        this.own = new AttemptKey(
                shared.keys.of(name, owner), shared.keys.queue(name), Keys.bytes(request.holderId()), lease, place);
        this.requests = new EntryRequests(
                shared.runtime,
                this::remove,
                () -> shared.runtime.nanoTime() - lease.goneAtNanos() > 0,
                () -> shared.events.over(this));
        this.kept = new KeptUntil(shared.runtime, this::end);
        this.held = new HeldKey(shared, own, requests, kept, new Losses());
    }

    LockName name() {
        return name;
    }

    OwnerToken owner() {
        return owner;
    }

    // ---- asking

    CompletableFuture<AcquireReply> ask(AcquireRequest request) {
        long nowNanos = shared.runtime.nanoTime();
        kept.atLeast(QueuePlace.forgottenAtNanos(request, nowNanos));
        return place.recheck(request, lease.isSure(), nowNanos)
                .map(QueueEntry::done)
                .orElseGet(() -> requests.inTurn(() -> look(request, 0)));
    }

    private CompletableFuture<AcquireReply> look(AcquireRequest request, int looks) {
        EtcdCalls.Leased leased = lease.current();
        Optional<AcquireReply> givenUp = place.givenUp(looks);
        if (givenUp.isPresent()) {
            return done(givenUp.get());
        }
        Long made = place.entry();
        if (leased != null) {
            return made != null ? confirm(request, made, looks) : make(request, leased, false, looks);
        }
        if (request.isWaiting()) {
            return leaseAndMake(request, looks);
        }
        // Who will not wait asks first whether it is worth it.
        return etcd.first(own.queue()).thenCompose(first -> {
            return first.isPresent() && !first.get().getKey().equals(own.key())
                    ? done(busy(first.get()))
                    : leaseAndMake(request, looks);
        });
    }

    private AcquireReply busy(KeyValue first) {
        return new AcquireReply.Busy(shared.heads.holder(first), 0, List.of());
    }

    /** Takes a lease that was left, once: where that one has ended, the others may have, too. */
    private CompletableFuture<AcquireReply> leaseAndMake(AcquireRequest request, int looks) {
        return lease.obtain(ttlNanos, looks > 0).thenCompose(isNew -> {
            EtcdCalls.Leased leased = lease.current();
            return leased == null || place.isEnded()
                    ? look(request, looks + 1)
                    : make(request, leased, isNew, looks + 1);
        });
    }

    /**
     * Makes the key.
     *
     * @param isNew whether the lease was granted to this very request. Else it is extended beside: what was known of it before may be
     *     from before a sleep of the machine, which the clock does not show
     */
    private CompletableFuture<AcquireReply> make(
            AcquireRequest request, EtcdCalls.Leased leased, boolean isNew, int looks) {
        CompletableFuture<EtcdCalls.Made> making =
                lease.putting(() -> etcd.make(own.key(), own.value(), leased.id(), own.queue()));
        CompletableFuture<Boolean> extended = isNew ? done(true) : lease.extend();
        return making.handle((made, error) -> {
                    if (error == null) {
                        return made(request, leased, made, extended, looks);
                    }
                    if (Failures.isLeaseGone(error)) {
                        lease.forget(leased.id());
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    return CompletableFuture.<AcquireReply>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> made(
            AcquireRequest request,
            EtcdCalls.Leased leased,
            EtcdCalls.Made made,
            CompletableFuture<Boolean> extended,
            int looks) {
        Optional<KeyValue> ours = made.own();
        Optional<KeyValue> first = made.first();
        if (ours.isEmpty() || first.isEmpty()) {
            return look(request, looks + 1);
        }
        long keptBy = ours.get().getLease();
        place.made(ours.get().getCreateRevision());
        held.seenAt(made.revision());
        if (keptBy != leased.id()) {
            // Made before, under another lease, by a request of the same owner token: that one is taken over.
            lease.takeOver(keptBy);
            return look(request, looks + 1);
        }
        return extended.thenCompose(there -> {
            if (!there) {
                keyIsGone();
                return look(request, looks + 1);
            }
            return decide(request, ours.get().getCreateRevision(), first.get(), looks);
        });
    }

    /** It is gone, or goes with its lease. */
    private void keyIsGone() {
        place.gone();
        held.close();
    }

    /** The key was made before: whether it is still there, and its lease as well. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, long made, int looks) {
        return lease.extend()
                .thenCombine(etcd.look(own.key(), made, own.queue()), (there, found) -> {
                    if (!there) {
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    held.seenAt(found.revision());
                    Optional<KeyValue> first = found.first();
                    if (first.isEmpty()) {
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    return decide(request, made, first.get(), looks);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> decide(AcquireRequest request, long made, KeyValue first, int looks) {
        if (first.getKey().equals(own.key())) {
            return grant(made);
        }
        return request.isWaiting() ? queue(request, made, first, looks) : remove().thenApply(nothing -> busy(first));
    }

    // ---- waiting

    /** Awaits the key before ours, and only that: its end wakes one waiter, not all of them. */
    private CompletableFuture<AcquireReply> queue(AcquireRequest request, long made, KeyValue first, int looks) {
        return etcd.lastBefore(own.queue(), made).thenCompose(found -> {
            Optional<KeyValue> before = found.key();
            if (before.isEmpty()) {
                return look(request, looks + 1);
            }
            KeyWatch next = new KeyWatch(etcd, before.get().getKey(), (watch, what) -> awaitedIsOver(watch));
            close(replaced(next));
            place.await();
            AcquireReply queued = place.queued(shared.heads.holder(first), shared.runtime.nanoTime());
            beat();
            next.begin(found.revision() + 1);
            return done(queued);
        });
    }

    private synchronized @Nullable KeyWatch replaced(@Nullable KeyWatch next) {
        KeyWatch old = awaiting;
        awaiting = next;
        return old;
    }

    /** Asks again, whatever happened to the watch of the key before ours. */
    private void awaitedIsOver(KeyWatch watch) {
        synchronized (this) {
            if (awaiting != watch) {
                return;
            }
        }
        if (place.awaitedIsOver()) {
            shared.events.woken(this);
        }
    }

    /** Keeps the lease while we wait; nobody else does. */
    private synchronized void beat() {
        EtcdCalls.Leased leased = lease.current();
        if (heartbeat == null && leased != null && !place.isEnded()) {
            heartbeat = shared.runtime.schedule(leased.ttlNanos() / 3, this::heartbeatIsDue);
        }
    }

    private void heartbeatIsDue() {
        synchronized (this) {
            heartbeat = null;
        }
        if (!place.isAwaiting()) {
            return;
        }
        lease.extend().whenComplete((there, error) -> {
            if (error == null && !there) {
                keyIsGone();
                shared.events.woken(this);
                return;
            }
            beat();
        });
    }

    // ---- holding

    private CompletableFuture<AcquireReply> grant(long made) {
        close(replaced(null));
        long token = shared.uri.tokenBase() + made;
        if (token >= TokenRange.LIMIT) {
            UnsafeStoreException error = new UnsafeStoreException(
                    "lock \"" + name + "\" at " + shared.uri + ": tokenBase " + shared.uri.tokenBase()
                            + " and the revision together reach 2^53, where fencing tokens end; use a smaller tokenBase",
                    null);
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
        }
        QueuePlace.Turn turn = place.granted(made);
        if (turn == QueuePlace.Turn.OVER) {
            return done(place.givenUp("the attempt was taken back"));
        }
        long fromNanos = held.granted(made, turn == QueuePlace.Turn.BEGUN, ttlNanos);
        Grant grant = new Grant(owner, TokenRange.of(token, 1), fromNanos, Incarnation.DURABLE);
        return done(new AcquireReply.Granted(grant, List.of()));
    }

    /** Renews the hold for so long. */
    CompletableFuture<RenewReply.Item> renew(long forNanos) {
        return held.renew(forNanos);
    }

    private final class Losses implements OwnKey.Listener {
        @Override
        public void taken(long made, LossCause cause) {
            if (place.taken(made)) {
                held.close();
                shared.events.taken(QueueEntry.this, cause);
                end();
            }
        }

        @Override
        public void suspended() {
            shared.events.suspended(QueueEntry.this);
        }
    }

    // ---- ending

    /**
     * Removes the key, now and, if that fails, again until it is gone or each lease that may keep it has ended by itself.
     *
     * @return whether it held until now
     */
    CompletableFuture<Boolean> end() {
        place.end();
        kept.end();
        LockRuntime.Timer beating;
        synchronized (this) {
            beating = heartbeat;
            heartbeat = null;
        }
        if (beating != null) {
            beating.cancel();
        }
        return requests.remove();
    }

    /** Removes the key; only in turn. It deletes and writes nothing: a cluster that is full refuses what writes. */
    private CompletableFuture<Boolean> remove() {
        place.awaitNothing();
        close(replaced(null));
        held.close();
        Long made = place.entry();
        return made == null
                ? nothingIsLeft(false)
                : etcd.delete(own.key(), made).thenCompose(deleted -> {
                    if (place.removed(deleted)) {
                        wasHeld.set(true);
                    }
                    return nothingIsLeft(deleted);
                });
    }

    /** Whether it held until now; once no late copy of the request that makes the key can succeed any more. */
    private CompletableFuture<Boolean> nothingIsLeft(boolean deleted) {
        return lease.end(deleted).thenApply(nothing -> wasHeld.getAndSet(false));
    }

    private static void close(@Nullable KeyWatch watch) {
        if (watch != null) {
            watch.close();
        }
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
