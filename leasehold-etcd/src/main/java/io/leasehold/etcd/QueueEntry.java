package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.EntryRequests;
import io.leasehold.spi.toolkit.KeptUntil;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.TokenBase;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: one key, kept by a lease of etcd that keeps no other key in
 * that time.
 *
 * <p><b>The queue alone decides which place holds:</b> the first key in it does. A waiter asks when the key before its
 * own is gone, for whatever reason, and that is enough. A key that goes by itself goes after the validity of its
 * holder:
 *
 * <ul>
 *   <li>A released key was invalid for its holder before.
 *   <li>A key that is not renewed is removed no earlier than a ttl after the request from which the validity counts.
 *   <li>Its lease outlives that span, too ({@link KeyLease#countedFromNanos}).
 * </ul>
 *
 * <p>If an operator deletes a key or revokes a lease by hand, that is a release by force.
 *
 * <p>Requests for a place are sent one after another, and none after the removal was requested. The key is created only
 * if it does not exist, so a retry after a lost reply finds it. No late copy of a request creates it again: either each
 * request was answered before the end, or the lease is revoked, and no key can be created under it then
 * ({@link KeyLease#end}). {@link QueuePlace} decides what follows from a finding. All mutable fields are guarded by
 * {@code this}; no call is made while it is held.
 */
final class QueueEntry {

    /** The parts that the places of a store share. */
    record Shared(
            EtcdUri uri,
            EtcdCalls etcd,
            LeasePool leases,
            TokenBase tokens,
            Keys keys,
            QueueHeads heads,
            LockRuntime runtime,
            Events events) {}

    /** Receives the events of a place. */
    interface Events {
        /** Another request may now succeed. */
        void woken(QueueEntry place);

        /** The key was removed while the place held. */
        void taken(QueueEntry place, LossCause cause);

        /** The watch of the key is broken while the place holds. */
        void suspended(QueueEntry place);

        /** The place has another owner token from now on: that of a reader. */
        void downgraded(QueueEntry place, OwnerToken former);

        /** Nothing of the place is left at the cluster. */
        void over(QueueEntry place);
    }

    private final Shared shared;
    private final EtcdCalls etcd;
    private final long ttlNanos;
    private final KeyLease lease;
    private final QueuePlace<Long> place;
    private final AttemptKey own;
    private final EntryRequests requests;
    /** The time after which the store removes the key by itself, because no renewal and no request came. */
    private final KeptUntil kept;

    private final HeldKey held;
    private final KeysBefore before;
    private final KeyDowngrade downgrade;
    private final KeyExport export;

    /** Whether a removal has ended a hold. The removal is answered only once no late request can succeed. */
    private final AtomicBoolean wasHeld = new AtomicBoolean();

    /**
     * The watch of the key before the own one, while it exists. Only its events count, because a replaced watch may
     * still report some.
     */
    private @Nullable KeyWatch awaiting;

    private LockRuntime.@Nullable Timer heartbeat;

    /** The attempt that has the place: once it is downgraded, that of the reader. */
    private volatile Attempt attempt;

    private record Attempt(LockName name, OwnerToken owner) {}

    /** Creates the place of an attempt that makes a key of its own. */
    QueueEntry(Shared shared, AcquireRequest request) {
        this(
                shared,
                request,
                shared.keys.of(request.name(), request.owner()),
                EntryData.of(request.name(), request.owner(), request.holderId()));
    }

    /**
     * Creates the place of an attempt.
     *
     * @param key its key: that of an exporter, if the attempt resumes a lease
     * @param data the value that it gives to the key
     */
    QueueEntry(Shared shared, AcquireRequest request, ByteSequence key, EntryData data) {
        this.shared = shared;
        this.etcd = shared.etcd;
        LockName name = request.name();
        OwnerToken owner = request.owner();
        this.attempt = new Attempt(name, owner);
        this.ttlNanos = request.ttlNanos();
        this.lease = new KeyLease(etcd, shared.runtime, shared.uri, shared.leases);
        this.place = new QueuePlace<>(name, shared.uri.toString());
        this.own = new AttemptKey(key, shared.keys.queue(name), data, lease, place);
        this.requests = new EntryRequests(
                shared.runtime,
                this::remove,
                () -> shared.runtime.nanoTime() - lease.goneAtNanos() > 0,
                () -> shared.events.over(this));
        this.kept = new KeptUntil(shared.runtime, this::end);
        this.held = new HeldKey(shared, own, requests, kept, new Losses());
        this.before = new KeysBefore(etcd, own.queue(), name.isRead());
        this.downgrade = new KeyDowngrade(etcd, own, held, this::keyIsGone, this::downgraded);
        this.export = new KeyExport(etcd, shared.uri, own, this::exported);
    }

    LockName name() {
        return attempt.name();
    }

    OwnerToken owner() {
        return attempt.owner();
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
        // An attempt that does not wait first checks whether the lock is free.
        return before.busy().thenCompose(other -> {
            return other.isPresent() && !other.get().getKey().equals(own.key())
                    ? done(busy(other.get()))
                    : leaseAndMake(request, looks);
        });
    }

    private AcquireReply busy(KeyValue other) {
        return new AcquireReply.Busy(shared.heads.holder(other), 0, List.of());
    }

    /**
     * Obtains a lease and makes the key. A lease that was left is tried only once: if it has ended, the others may have
     * ended, too.
     */
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
     * @param isNew whether the lease was granted to this very request. If not, it is extended by a parallel request,
     *     because earlier knowledge of it may predate a sleep of the machine, which the clock does not show
     */
    private CompletableFuture<AcquireReply> make(
            AcquireRequest request, EtcdCalls.Leased leased, boolean isNew, int looks) {
        CompletableFuture<EtcdCalls.Made> making =
                lease.putting(() -> etcd.make(own.key(), own.value(), leased.id(), own.queue(), before.most()));
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
        EtcdCalls.Front front = made.front();
        if (ours.isEmpty() || front.isEmpty()) {
            return look(request, looks + 1);
        }
        long keptBy = ours.get().getLease();
        place.made(ours.get().getCreateRevision());
        held.seenAt(front.revision());
        if (keptBy != leased.id()) {
            // An earlier request of the same owner token made the key under another lease: take over that lease.
            lease.takeOver(keptBy);
            return look(request, looks + 1);
        }
        return extended.thenCompose(there -> {
            if (!there) {
                keyIsGone();
                return look(request, looks + 1);
            }
            return decide(request, ours.get().getCreateRevision(), front, looks);
        });
    }

    /** Notes that the key is gone, or goes with its lease. */
    private void keyIsGone() {
        place.gone();
        held.close();
    }

    /** Checks whether a key that was made earlier still exists, and its lease as well. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, long made, int looks) {
        return lease.extend()
                .thenCombine(etcd.look(own.key(), made, own.queue(), before.most()), (there, found) -> {
                    if (!there) {
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    held.seenAt(found.front().revision());
                    if (found.front().isEmpty()) {
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    return decide(request, made, found.front(), looks);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> decide(
            AcquireRequest request, long made, EtcdCalls.Front front, int looks) {
        return before.blocking(made, front.keys()).thenCompose(blocking -> {
            if (blocking.isEmpty()) {
                return grant(made, ttlNanos);
            }
            if (!request.isWaiting()) {
                return remove().thenApply(nothing -> busy(front.first()));
            }
            return own.data().isReader()
                    ? done(await(blocking.get(), front.revision(), front.first()))
                    : queue(request, made, front.first(), looks);
        });
    }

    // ---- waiting

    /** Awaits the key directly before the own one, and no other: its removal wakes one writer, not all of them. */
    private CompletableFuture<AcquireReply> queue(AcquireRequest request, long made, KeyValue first, int looks) {
        return etcd.lastBefore(own.queue(), made).thenCompose(found -> {
            return found.key().isEmpty()
                    ? look(request, looks + 1)
                    : done(await(found.key().get(), found.revision(), first));
        });
    }

    /** Awaits the end of this key, which was there at a revision; a reader also awaits that it becomes a reader's. */
    private AcquireReply await(KeyValue awaited, long revision, KeyValue first) {
        KeyWatch next =
                new KeyWatch(etcd, awaited.getKey(), own.data().isReader(), (watch, what) -> awaitedIsOver(watch));
        close(replaced(next));
        place.await();
        AcquireReply queued = place.queued(shared.heads.holder(first), shared.runtime.nanoTime());
        beat();
        next.begin(revision + 1);
        return queued;
    }

    private synchronized @Nullable KeyWatch replaced(@Nullable KeyWatch next) {
        KeyWatch old = awaiting;
        awaiting = next;
        return old;
    }

    /** Asks again, whatever the watch of the awaited key has reported. */
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

    /** Keeps the lease while the place waits; nothing else extends it. */
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

    private CompletableFuture<AcquireReply> grant(long made, long forNanos) {
        close(replaced(null));
        long token = shared.tokens.token(made, own.data().generation());
        if (token >= TokenRange.LIMIT) {
            UnsafeStoreException error = new UnsafeStoreException(
                    "lock \"" + name() + "\" at " + shared.uri + ": tokenBase " + shared.tokens.value()
                            + " and the revision together reach 2^53, where fencing tokens end; use a smaller tokenBase",
                    null);
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
        }
        return done(granted(made, token, forNanos));
    }

    private AcquireReply granted(long made, long token, long forNanos) {
        QueuePlace.Turn turn = place.granted(made);
        if (turn == QueuePlace.Turn.OVER) {
            return place.givenUp("the attempt was taken back");
        }
        long fromNanos = held.granted(made, turn == QueuePlace.Turn.BEGUN, forNanos);
        Grant grant = new Grant(owner(), TokenRange.of(token, 1), fromNanos, Incarnation.DURABLE);
        return new AcquireReply.Granted(grant, List.of());
    }

    /** Makes the key that of a reader, if the place holds as a writer, or as this reader. */
    CompletableFuture<AcquireReply> downgrade(AcquireRequest request) {
        return requests.inTurn(() -> downgrade.ask(request));
    }

    private AcquireReply downgraded(AcquireRequest request) {
        Long made = place.held();
        if (made == null) {
            return place.givenUp("the attempt was taken back");
        }
        OwnerToken former = owner();
        attempt = new Attempt(request.name(), request.owner());
        shared.events.downgraded(this, former);
        return granted(made, shared.tokens.token(made, own.data().generation()), request.ttlNanos());
    }

    /** Puts a ticket in the place of the holder; the attempt is over then, and its key stays. */
    CompletableFuture<ExportReply> export(ExportRequest request) {
        return requests.inTurn(() -> export.ask(request));
    }

    @SuppressWarnings("FutureReturnValueIgnored") // what is left of the lease ends by itself
    private void exported() {
        keyIsGone();
        place.end();
        kept.end();
        lease.end(true);
        shared.events.over(this);
    }

    /** Takes over the key of a ticket, as an attempt that has made none. */
    CompletableFuture<AcquireReply> resume(AcquireRequest request, KeyResume swap) {
        kept.atLeast(QueuePlace.forgottenAtNanos(request, shared.runtime.nanoTime()));
        return requests.inTurn(() -> {
            Optional<AcquireReply> over = place.givenUp(0);
            return over.isPresent()
                    ? done(over.get())
                    : swap.ask(ttlNanos)
                            // A late request may put the key under the lease, which then ends by itself.
                            .whenComplete((swapped, error) -> kept.atLeast(lease.goneAtNanos()))
                            .thenCompose(this::resumed);
        });
    }

    private CompletableFuture<AcquireReply> resumed(KeyResume.Swapped swapped) {
        if (!swapped.isOurs()) {
            return done(new AcquireReply.Busy(null, 0, List.of()));
        }
        place.made(swapped.made());
        held.seenAt(swapped.revision());
        return grant(swapped.made(), ttlNanos);
    }

    KeyResume swap(long made, ByteSequence from) {
        return new KeyResume(etcd, own, made, from);
    }

    /** Renews the hold for this time. */
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
     * Removes the key. If that fails, retries until the key is gone, or each lease that may keep it has ended by
     * itself.
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

    /**
     * Removes the key; runs only in turn with the other requests. It deletes and writes nothing, because a full cluster
     * refuses writes.
     */
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

    /**
     * Completes with whether the place held until now, once no late copy of the request that makes the key can succeed.
     */
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
