package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.TxnResponse;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
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
import io.leasehold.spi.toolkit.KeptUntil;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: one key, kept by a lease of etcd of its own.
 *
 * <p><b>Who holds</b> is told by the queue alone: the first in it does. A waiter asks when the key before its own has gone,
 * for whatever reason, and that is enough. Each key that goes by itself goes after the validity of its holder: a key that is
 * given back was dead to its holder before, one that nobody renewed is removed no earlier than a ttl after the request that the
 * validity counts from, and its lease outlives that span, too ({@link KeyLease#countedFromNanos}). What an operator deletes or revokes by
 * hand is a release by force.
 *
 * <p>What is sent for it is sent in turn, and nothing after the removal was asked for. The key is made only if it is not
 * there, so that asking again after a lost reply finds it; and since a key cannot be made under a lease that was revoked, no
 * late copy of a request makes it anew. All fields that change are guarded by {@code this}; nobody is called while it is held.
 */
final class QueueEntry {

    private static final int MAX_LOOKS = 8;
    private static final long MIN_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MAX_PATIENCE_NANOS = Duration.ofDays(1).toNanos();
    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();
    /** Shorter holds are not watched: that would cost more than it tells. */
    private static final long WATCHED_AFTER_NANOS = Duration.ofMillis(200).toNanos();

    /** What the places of a store share. */
    record Shared(EtcdUri uri, Etcd etcd, Keys keys, QueueHeads heads, LockRuntime runtime, Events events) {}

    /** Hears of a place. */
    interface Events {
        /** Asking again may be worth it. */
        void woken(QueueEntry place);

        /** The key was taken away while it held. */
        void taken(QueueEntry place, LossCause cause);

        /** What tells of the key is broken while it holds. */
        void suspended(QueueEntry place);

        /** Nothing of it is left at the cluster. */
        void over(QueueEntry place);
    }

    private final Shared shared;
    private final Etcd etcd;
    private final LockName name;
    private final OwnerToken owner;
    private final ByteSequence key;
    private final ByteSequence queue;
    private final ByteSequence value;
    private final long ttlNanos;
    /** After this the store removes the key by itself: nobody renewed or asked for it. */
    private final KeptUntil kept;

    private final KeyLease lease;
    private final OwnKey ownKey;

    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    /** The create revision of our key while we believe in it, else 0. */
    private long revision;

    /** When our key was seen last: what happens to it happens later. */
    private long seenAtRevision;

    private boolean held;
    private boolean ended;
    private boolean repeating;
    /** Of the key before ours, while that watch stands; whose word counts, since one that was replaced has nothing to say. */
    private @Nullable KeyWatch awaiting;

    private boolean queued;
    private @Nullable Holder holder;
    /** When we last said that we wait. */
    private long queuedAtNanos;

    private LockRuntime.@Nullable Timer heartbeat;

    QueueEntry(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.etcd = shared.etcd;
        this.name = request.name();
        this.owner = request.owner();
        this.key = shared.keys.of(name, owner);
        this.queue = shared.keys.queue(name);
        this.value = Keys.bytes(request.holderId());
        this.ttlNanos = request.ttlNanos();
        this.lease = new KeyLease(etcd, shared.runtime, shared.uri);
        this.ownKey = new OwnKey(etcd, shared.runtime, key, lease, new Own());
        this.kept = new KeptUntil(shared.runtime, this::end);
    }

    LockName name() {
        return name;
    }

    OwnerToken owner() {
        return owner;
    }

    // ---- asking

    CompletableFuture<AcquireReply> ask(AcquireRequest request) {
        keepFor(request);
        synchronized (this) {
            if (isTold(request)) {
                queuedAtNanos = shared.runtime.nanoTime();
                return done(new AcquireReply.Queued(holder, 0, List.of()));
            }
        }
        return inTurn(() -> look(request, 0));
    }

    /** An attempt waits for its answer, and a waiter asks again within its recheck; what is silent for clearly longer is forgotten. */
    private void keepFor(AcquireRequest request) {
        long limitNanos = Math.min(request.timeoutNanos(), MAX_PATIENCE_NANOS);
        long recheckNanos = Math.min(request.recheckNanos(), MAX_PATIENCE_NANOS);
        kept.atLeast(shared.runtime.nanoTime() + MIN_PATIENCE_NANOS + limitNanos + recheckNanos * 3 / 2);
    }

    /**
     * Called under the guard. Whether this is a recheck that the watch answers: asking the cluster would tell nothing new. A
     * waiter that asks sooner than for a recheck was told something, and is not put off.
     */
    private boolean isTold(AcquireRequest request) {
        return request.isWaiting()
                && shared.runtime.nanoTime() - queuedAtNanos >= request.recheckNanos() / 2
                && !ended
                && queued
                && lease.isSure();
    }

    private synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<T> next = tail.handle((result, error) -> null).thenCompose(nothing -> step.get());
        tail = next;
        return next;
    }

    private CompletableFuture<AcquireReply> look(AcquireRequest request, int looks) {
        Etcd.Leased leased = lease.current();
        boolean standing;
        synchronized (this) {
            if (ended) {
                return done(givenUp("the attempt was taken back"));
            }
            standing = revision != 0;
        }
        if (looks >= MAX_LOOKS) {
            return done(givenUp("its key was removed again and again"));
        }
        if (leased != null) {
            return standing ? confirm(request, looks) : make(request, leased, looks);
        }
        if (request.isWaiting()) {
            return leaseAndMake(request, looks);
        }
        // Who will not wait asks first whether it is worth it.
        return etcd.get(queue, Etcd.first()).thenCompose(found -> {
            Optional<KeyValue> first = Etcd.only(found);
            return first.isPresent() && !first.get().getKey().equals(key)
                    ? done(busy(first.get()))
                    : leaseAndMake(request, looks);
        });
    }

    private AcquireReply givenUp(String why) {
        String message = "acquire of \"" + name + "\" at " + shared.uri + " was given up: " + why;
        return new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException(message, null), 0);
    }

    private AcquireReply busy(KeyValue first) {
        return new AcquireReply.Busy(shared.heads.holder(first), 0, List.of());
    }

    private CompletableFuture<AcquireReply> leaseAndMake(AcquireRequest request, int looks) {
        return lease.grant(ttlNanos).thenCompose(granted -> look(request, looks + 1));
    }

    private CompletableFuture<AcquireReply> make(AcquireRequest request, Etcd.Leased leased, int looks) {
        return etcd.make(key, value, leased.id(), queue)
                .handle((made, error) -> {
                    if (error == null) {
                        return made(request, leased, made, looks);
                    }
                    if (Failures.isLeaseGone(error)) {
                        leaseIsGone();
                        return look(request, looks + 1);
                    }
                    return CompletableFuture.<AcquireReply>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> made(
            AcquireRequest request, Etcd.Leased leased, TxnResponse made, int looks) {
        Optional<KeyValue> own = Etcd.only(made.getGetResponses().get(0));
        Optional<KeyValue> first = Etcd.only(made.getGetResponses().get(1));
        if (own.isEmpty() || first.isEmpty()) {
            return look(request, looks + 1);
        }
        long keptBy = own.get().getLease();
        synchronized (this) {
            revision = own.get().getCreateRevision();
            seenAtRevision = made.getHeader().getRevision();
        }
        if (keptBy != leased.id()) {
            // Made before, under another lease, by a request of the same owner token: that one is taken over.
            etcd.revoke(leased.id());
            lease.takeOver(keptBy);
            return look(request, looks + 1);
        }
        return decide(request, first.get(), looks);
    }

    /** The key is gone as well, or goes with it. */
    private void leaseIsGone() {
        lease.forget();
        keyIsGone();
    }

    private void keyIsGone() {
        forgetKey();
        ownKey.close();
    }

    private synchronized void forgetKey() {
        revision = 0;
        held = false;
        queued = false;
    }

    /** The key was made before: whether it is still there, and its lease as well. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, int looks) {
        long ours;
        synchronized (this) {
            ours = revision;
        }
        return lease.extend()
                .thenCombine(etcd.look(key, ours, queue), (there, found) -> {
                    if (!there) {
                        leaseIsGone();
                        return look(request, looks + 1);
                    }
                    synchronized (this) {
                        seenAtRevision = found.getHeader().getRevision();
                    }
                    Optional<KeyValue> first = found.isSucceeded()
                            ? Etcd.only(found.getGetResponses().get(0))
                            : Optional.empty();
                    if (first.isEmpty()) {
                        keyIsGone();
                        return look(request, looks + 1);
                    }
                    return decide(request, first.get(), looks);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> decide(AcquireRequest request, KeyValue first, int looks) {
        if (first.getKey().equals(key)) {
            return grant();
        }
        return request.isWaiting() ? queue(request, first, looks) : remove().thenApply(nothing -> busy(first));
    }

    // ---- waiting

    /** Awaits the key before ours, and only that: its end wakes one waiter, not all of them. */
    private CompletableFuture<AcquireReply> queue(AcquireRequest request, KeyValue first, int looks) {
        long ours;
        synchronized (this) {
            ours = revision;
        }
        return etcd.get(queue, Etcd.lastBefore(ours)).thenCompose(found -> {
            Optional<KeyValue> before = Etcd.only(found);
            if (before.isEmpty()) {
                return look(request, looks + 1);
            }
            KeyWatch next = new KeyWatch(etcd, before.get().getKey(), (watch, what) -> awaitedIsOver(watch));
            KeyWatch old;
            synchronized (this) {
                old = awaiting;
                awaiting = next;
                queued = true;
                queuedAtNanos = shared.runtime.nanoTime();
                holder = shared.heads.holder(first);
                beat();
            }
            close(old);
            next.begin(found.getHeader().getRevision() + 1);
            return done(new AcquireReply.Queued(shared.heads.holder(first), 0, List.of()));
        });
    }

    /** Whatever happens to the watch of the key before ours, asking again tells more. */
    private void awaitedIsOver(KeyWatch watch) {
        synchronized (this) {
            if (!queued || ended || awaiting != watch) {
                return;
            }
            queued = false;
        }
        shared.events.woken(this);
    }

    /** Called under the guard. Keeps the lease while we wait; nobody else does. */
    private void beat() {
        Etcd.Leased leased = lease.current();
        if (heartbeat == null && leased != null && !ended) {
            heartbeat = shared.runtime.schedule(leased.ttlNanos() / 3, this::heartbeatIsDue);
        }
    }

    private void heartbeatIsDue() {
        synchronized (this) {
            heartbeat = null;
            if (!queued || ended) {
                return;
            }
        }
        lease.extend().whenComplete((there, error) -> {
            if (error == null && !there) {
                leaseIsGone();
                shared.events.woken(this);
                return;
            }
            synchronized (this) {
                beat();
            }
        });
    }

    // ---- holding

    private CompletableFuture<AcquireReply> grant() {
        long made;
        KeyWatch old;
        synchronized (this) {
            made = revision;
            old = awaiting;
            awaiting = null;
            queued = false;
        }
        close(old);
        long token = shared.uri.tokenBase() + made;
        if (token >= TokenRange.LIMIT) {
            UnsafeStoreException error = new UnsafeStoreException(
                    "lock \"" + name + "\" at " + shared.uri + ": tokenBase " + shared.uri.tokenBase()
                            + " and the revision together reach 2^53, where fencing tokens end; use a smaller tokenBase",
                    null);
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
        }
        boolean first;
        synchronized (this) {
            if (ended || made == 0) {
                return done(givenUp("the attempt was taken back"));
            }
            first = !held;
            held = true;
        }
        long fromNanos = lease.countedFromNanos(ttlNanos);
        if (first) {
            kept.exactly(fromNanos + ttlNanos);
            shared.runtime.schedule(WATCHED_AFTER_NANOS, () -> guard(made));
        } else {
            kept.atLeast(fromNanos + ttlNanos);
        }
        Grant grant = new Grant(owner, TokenRange.of(token, 1), fromNanos, Incarnation.DURABLE);
        return done(new AcquireReply.Granted(grant, List.of()));
    }

    /** Extends the lease, or puts the key under a longer one, and looks whether the key is still there. */
    CompletableFuture<RenewReply.Item> renew(long forNanos) {
        long ours;
        synchronized (this) {
            if (!held || ended) {
                return done(new RenewReply.NotOurs());
            }
            ours = revision;
        }
        return lease.isLongEnough(forNanos) ? extend(ours, forNanos) : inTurn(() -> move(ours, forNanos));
    }

    private CompletableFuture<RenewReply.Item> extend(long ours, long forNanos) {
        return lease.extend()
                .thenCombine(
                        etcd.look(key, ours, queue),
                        (there, found) -> there && found.isSucceeded()
                                ? renewed(ours, found, forNanos)
                                : new RenewReply.NotOurs());
    }

    private RenewReply.Item renewed(long ours, TxnResponse found, long forNanos) {
        synchronized (this) {
            if (!isHeldSince(ours)) {
                return new RenewReply.NotOurs();
            }
            seenAtRevision = found.getHeader().getRevision();
        }
        long fromNanos = lease.countedFromNanos(forNanos);
        kept.atLeast(fromNanos + forNanos);
        guard(ours);
        return new RenewReply.Renewed(fromNanos);
    }

    /** Puts the key under a longer lease. Nothing is told before that is answered; if it is not, the next renewal repeats it. */
    private CompletableFuture<RenewReply.Item> move(long ours, long forNanos) {
        if (lease.isLongEnough(forNanos)) {
            return extend(ours, forNanos); // Another renewal has done it meanwhile.
        }
        return isHeldSince(ours)
                ? lease.longer(forNanos).thenCompose(longer -> moveTo(longer, ours, forNanos))
                : done(new RenewReply.NotOurs());
    }

    private CompletableFuture<RenewReply.Item> moveTo(Etcd.Leased longer, long ours, long forNanos) {
        if (!isHeldSince(ours)) {
            return done(new RenewReply.NotOurs()); // The removal, whose turn comes, ends both leases.
        }
        return etcd.move(key, ours, value, longer.id()).thenApply(moved -> {
            if (!moved.isSucceeded()) {
                return new RenewReply.NotOurs(); // The key is gone.
            }
            lease.movedTo(longer);
            return renewed(ours, moved, forNanos);
        });
    }

    private synchronized boolean isHeldSince(long made) {
        return held && !ended && revision == made;
    }

    private void guard(long made) {
        long seen;
        synchronized (this) {
            seen = seenAtRevision;
        }
        ownKey.guard(made, seen + 1);
    }

    private final class Own implements OwnKey.Owner {
        @Override
        public boolean isHeldSince(long made) {
            return QueueEntry.this.isHeldSince(made);
        }

        @Override
        public void taken(long made, LossCause cause) {
            synchronized (QueueEntry.this) {
                if (!isHeldSince(made)) {
                    return;
                }
                forgetKey();
            }
            ownKey.close();
            shared.events.taken(QueueEntry.this, cause);
            end();
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
        LockRuntime.Timer beating;
        synchronized (this) {
            ended = true;
            beating = heartbeat;
            heartbeat = null;
        }
        kept.end();
        if (beating != null) {
            beating.cancel();
        }
        CompletableFuture<Boolean> removal = inTurn(this::remove);
        removal.whenComplete((was, error) -> {
            if (error == null || shared.runtime.nanoTime() - lease.goneAtNanos() > 0) {
                shared.events.over(this);
            } else {
                endAgain();
            }
        });
        return removal;
    }

    /** One repetition at a time, however often the end is asked for. */
    private void endAgain() {
        synchronized (this) {
            if (repeating) {
                return;
            }
            repeating = true;
        }
        shared.runtime.schedule(REMOVAL_PAUSE_NANOS, () -> {
            synchronized (this) {
                repeating = false;
            }
            end();
        });
    }

    /** Only in turn. Deletes, and writes nothing: a cluster that is full refuses what writes. */
    private CompletableFuture<Boolean> remove() {
        long ours;
        KeyWatch awaited;
        synchronized (this) {
            ours = revision;
            awaited = awaiting;
            awaiting = null;
            queued = false;
        }
        close(awaited);
        ownKey.close();
        if (ours == 0) {
            // A late copy of the request that makes the key cannot succeed any more.
            return lease.revoke().thenApply(nothing -> gone(false));
        }
        return etcd.delete(key, ours).thenApply(deleted -> {
            lease.revoke();
            return gone(deleted);
        });
    }

    private boolean gone(boolean deleted) {
        boolean was;
        synchronized (this) {
            was = held && deleted;
        }
        leaseIsGone();
        return was;
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
