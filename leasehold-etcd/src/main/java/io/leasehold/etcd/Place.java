// Long because it is one state machine under one guard: what is asked, kept and removed for an owner token.
package io.leasehold.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
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
import io.leasehold.spi.TimeLimit;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: one key, kept by a lease of etcd of its own.
 *
 * <p>What is sent for it is sent in turn, and nothing after the removal was asked for. The key is made only if it is not
 * there, so that asking again after a lost reply finds it; and since a key cannot be made under a lease that was revoked, no
 * late copy of a request makes it anew. All fields that change are guarded by {@code this}; nobody is called while it is held.
 */
final class Place {

    private static final int MOST_LOOKS = 8;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final long LEAST_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long LOSS_NOTICE_NANOS = Duration.ofSeconds(2).toNanos();
    /** How long a lost holder may be left without its cause: clearly less than {@link #LOSS_NOTICE_NANOS}. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();
    /** Shorter holds are not watched: that would cost more than it tells. */
    private static final long WATCHED_AFTER_NANOS = Duration.ofMillis(200).toNanos();

    /** What the places of a store share. */
    record Shared(EtcdUri uri, Etcd etcd, Keys keys, Heads heads, LockRuntime runtime, Events events) {}

    /** Hears of a place. */
    interface Events {
        /** Asking again may be worth it. */
        void woken(Place place);

        /** The key was taken away while it held. */
        void taken(Place place, LossCause cause);

        /** What tells of the key is broken while it holds. */
        void suspended(Place place);

        /** Nothing of it is left at the cluster. */
        void over(Place place);
    }

    private final Shared shared;
    private final Etcd etcd;
    private final LockName name;
    private final OwnerToken owner;
    private final ByteSequence key;
    private final ByteSequence queue;
    private final ByteSequence value;
    private final long ttlNanos;

    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    private Etcd.@Nullable Leased lease;
    /** From when the lease may be counted. */
    private long leasedFromNanos;

    /** The create revision of our key while we believe in it, else 0. */
    private long revision;

    /** When our key was seen last: what happens to it happens later. */
    private long seenAtRevision;

    private boolean held;
    private boolean ended;
    private Watch.@Nullable Watcher awaiting;
    /** Whose word counts: a watch that was replaced has nothing to say. */
    private @Nullable Awaited awaited;

    private boolean queued;
    private Watch.@Nullable Watcher guarding;
    private @Nullable Holder holder;
    /** What we awaited was lost, and its holder is given time to hear of it. */
    private boolean pausing;

    /** When we last said that we wait. */
    private long queuedAtNanos;

    private long keptUntilAtNanos;
    private LockRuntime.@Nullable Timer timer;
    private long timerAtNanos;
    private LockRuntime.@Nullable Timer heartbeat;

    Place(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.etcd = shared.etcd;
        this.name = request.name();
        this.owner = request.owner();
        this.key = shared.keys.of(name, owner);
        this.queue = shared.keys.queue(name);
        this.value = Keys.bytes(request.holderId());
        this.ttlNanos = request.ttlNanos();
    }

    LockName name() {
        return name;
    }

    OwnerToken owner() {
        return owner;
    }

    // ---- asking

    CompletableFuture<AcquireReply> ask(AcquireRequest request) {
        synchronized (this) {
            long untilAtNanos = shared.runtime.nanoTime() + patienceNanos(request);
            keep(timer != null && keptUntilAtNanos - untilAtNanos > 0 ? keptUntilAtNanos : untilAtNanos);
            if (!ended && request.isWaiting() && (pausing || isRecheck(request)) && queued && isLeaseSure()) {
                // The watch tells; asking the cluster again would tell nothing new.
                queuedAtNanos = shared.runtime.nanoTime();
                return done(new AcquireReply.Queued(holder, 0, List.of()));
            }
        }
        return inTurn(() -> look(request, 0));
    }

    /** Called under the guard. Who asks again sooner than for a recheck was told something, and is not put off. */
    private boolean isRecheck(AcquireRequest request) {
        return request.isWaiting() && shared.runtime.nanoTime() - queuedAtNanos >= request.recheckNanos() / 2;
    }

    /** A waiter asks again within its recheck; one that has been silent for clearly longer is forgotten. */
    private static long patienceNanos(AcquireRequest request) {
        return LEAST_PATIENCE_NANOS + Math.min(request.recheckNanos(), Long.MAX_VALUE / 8) * 3 / 2;
    }

    private boolean isLeaseSure() {
        return lease != null && shared.runtime.nanoTime() - leasedFromNanos < lease.ttlNanos();
    }

    private synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<T> next = tail.handle((result, error) -> null).thenCompose(nothing -> step.get());
        tail = next;
        return next;
    }

    private CompletableFuture<AcquireReply> look(AcquireRequest request, int looks) {
        Etcd.Leased leased;
        boolean standing;
        synchronized (this) {
            if (ended) {
                return done(givenUp("the attempt was taken back"));
            }
            leased = lease;
            standing = revision != 0;
        }
        if (looks >= MOST_LOOKS) {
            return done(givenUp("its key was removed again and again"));
        }
        if (leased != null && standing) {
            return confirm(request, leased, looks);
        }
        if (leased != null) {
            return make(request, leased, looks);
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

    private long secondsFor(long forNanos) {
        long sureNanos = forNanos + shared.uri.electionTimeout().toNanos();
        return (sureNanos + NANOS_PER_SECOND - 1) / NANOS_PER_SECOND;
    }

    private CompletableFuture<AcquireReply> leaseAndMake(AcquireRequest request, int looks) {
        long sentAtNanos = shared.runtime.nanoTime();
        return etcd.lease(secondsFor(ttlNanos)).thenCompose(leased -> {
            synchronized (this) {
                lease = leased;
                leasedFromNanos = sentAtNanos;
            }
            return look(request, looks + 1);
        });
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
            synchronized (this) {
                lease = new Etcd.Leased(keptBy, 0);
            }
            return look(request, looks + 1);
        }
        return decide(request, first.get(), looks);
    }

    private synchronized void leaseIsGone() {
        lease = null;
        revision = 0;
        held = false;
        queued = false;
        pausing = false;
    }

    /** The key was made before: whether it is still there, and its lease as well. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, Etcd.Leased leased, int looks) {
        long ours;
        synchronized (this) {
            ours = revision;
        }
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<Optional<Etcd.Leased>> keeping = etcd.keepAlive(leased.id());
        return etcd.look(key, ours, queue)
                .thenCombine(keeping, (found, kept) -> {
                    if (kept.isEmpty()) {
                        leaseIsGone();
                        return look(request, looks + 1);
                    }
                    synchronized (this) {
                        lease = kept.get();
                        leasedFromNanos = sentAtNanos;
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

    private synchronized void keyIsGone() {
        revision = 0;
        held = false;
        queued = false;
        pausing = false;
    }

    private CompletableFuture<AcquireReply> decide(AcquireRequest request, KeyValue first, int looks) {
        if (first.getKey().equals(key)) {
            return grant();
        }
        return request.isWaiting() ? queue(request, first, looks) : remove().thenApply(nothing -> busy(first));
    }

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
            Awaited next = new Awaited();
            synchronized (this) {
                awaited = next;
                queued = true;
                queuedAtNanos = shared.runtime.nanoTime();
                holder = shared.heads.holder(first);
                beat();
            }
            Watch.Watcher watcher =
                    etcd.onDeletion(before.get().getKey(), found.getHeader().getRevision() + 1, next);
            Watch.Watcher old;
            synchronized (this) {
                old = awaiting;
                awaiting = watcher;
            }
            close(old);
            return done(new AcquireReply.Queued(shared.heads.holder(first), 0, List.of()));
        });
    }

    private CompletableFuture<AcquireReply> grant() {
        Etcd.Leased leased;
        long token;
        long fromNanos;
        Watch.Watcher old;
        synchronized (this) {
            leased = lease;
            token = shared.uri.tokenBase() + revision;
            fromNanos = leasedFromNanos;
            old = awaiting;
            awaiting = null;
            queued = false;
        }
        close(old);
        if (token >= TokenRange.LIMIT) {
            UnsafeStoreException error = new UnsafeStoreException(
                    "lock \"" + name + "\" at " + shared.uri + ": tokenBase " + shared.uri.tokenBase()
                            + " and the revision together reach 2^53, where fencing tokens end; use a smaller tokenBase",
                    null);
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
        }
        synchronized (this) {
            if (ended || leased == null) {
                return done(givenUp("the attempt was taken back"));
            }
            if (!held) {
                held = true;
                long made = revision;
                shared.runtime.schedule(WATCHED_AFTER_NANOS, () -> guard(made));
            }
            keep(fromNanos + ttlNanos);
        }
        Grant grant = new Grant(
                owner, TokenRange.of(token, 1), countedFromNanos(leased, fromNanos, ttlNanos), Incarnation.DURABLE);
        return done(new AcquireReply.Granted(grant, List.of()));
    }

    /**
     * From when a ttl may be counted, if the lease was granted or extended by a request sent then. A leader that is cut
     * off may extend it for an election timeout more without the new leader's knowing: so much of the lease is not sure.
     */
    private long countedFromNanos(Etcd.Leased leased, long sentAtNanos, long forNanos) {
        long sureNanos = leased.ttlNanos() - shared.uri.electionTimeout().toNanos();
        return sentAtNanos - Math.max(0, forNanos - sureNanos);
    }

    // ---- waiting

    /** Whatever happens to the watch of the key before ours, asking again tells more. */
    private final class Awaited implements Etcd.Deletion {
        @Override
        public void deleted(long revision) {
            awaitedHasGone(this, revision);
        }

        @Override
        public void broken() {
            awaitedIsOver(this);
        }

        @Override
        public void over() {
            awaitedIsOver(this);
        }
    }

    private synchronized boolean isAwaiting(Awaited one) {
        return queued && !ended && awaited == one;
    }

    private void awaitedHasGone(Awaited one, long deletedAtRevision) {
        if (!isAwaiting(one)) {
            return;
        }
        // A key that was not given back was lost by somebody who may not know it yet: a moment passes before we ask.
        shared.heads.wasGivenBack(deletedAtRevision).whenComplete((givenBack, error) -> {
            if (error == null && givenBack) {
                awaitedIsOver(one);
            } else {
                synchronized (this) {
                    pausing = true;
                }
                shared.runtime.schedule(LOSS_NOTICE_NANOS, () -> awaitedIsOver(one));
            }
        });
    }

    private void awaitedIsOver(Awaited one) {
        synchronized (this) {
            if (!isAwaiting(one)) {
                return;
            }
            queued = false;
            pausing = false;
        }
        shared.events.woken(this);
    }

    /** Called under the guard. Keeps the lease while we wait; nobody else does. */
    private void beat() {
        Etcd.Leased leased = lease;
        if (heartbeat == null && leased != null && !ended) {
            heartbeat = shared.runtime.schedule(leased.ttlNanos() / 3, this::heartbeatIsDue);
        }
    }

    private void heartbeatIsDue() {
        Etcd.Leased leased;
        synchronized (this) {
            heartbeat = null;
            leased = lease;
            if (!queued || ended || leased == null) {
                return;
            }
        }
        long sentAtNanos = shared.runtime.nanoTime();
        etcd.keepAlive(leased.id()).whenComplete((kept, error) -> {
            boolean gone = error == null && kept.isEmpty();
            synchronized (this) {
                if (gone) {
                    leaseIsGone();
                } else if (error == null && lease != null && lease.id() == leased.id()) {
                    leasedFromNanos = sentAtNanos;
                }
                beat();
            }
            if (gone) {
                shared.events.woken(this);
            }
        });
    }

    // ---- holding

    /** Extends the lease, and looks whether the key is still there. */
    CompletableFuture<RenewReply.Item> renew(long forNanos) {
        Etcd.Leased leased;
        long ours;
        synchronized (this) {
            leased = lease;
            ours = held && !ended ? revision : 0;
        }
        if (leased == null || ours == 0) {
            return done(new RenewReply.NotOurs());
        }
        if (leased.ttlNanos() < forNanos) {
            return inTurn(() -> move(ours, leased, forNanos));
        }
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<Optional<Etcd.Leased>> keeping = etcd.keepAlive(leased.id());
        return etcd.look(key, ours, queue).thenCombine(keeping, (found, kept) -> {
            if (kept.isEmpty() || !found.isSucceeded()) {
                return new RenewReply.NotOurs();
            }
            return renewed(kept.get(), found, sentAtNanos, forNanos);
        });
    }

    private RenewReply.Item renewed(Etcd.Leased kept, TxnResponse found, long sentAtNanos, long forNanos) {
        long made;
        synchronized (this) {
            made = revision;
            if (held && !ended) {
                lease = kept;
                leasedFromNanos = sentAtNanos;
                seenAtRevision = found.getHeader().getRevision();
                keep(sentAtNanos + forNanos);
            }
        }
        guard(made);
        return new RenewReply.Renewed(countedFromNanos(kept, sentAtNanos, forNanos));
    }

    /** A lease of etcd cannot be made longer, so the key is put under another. */
    private CompletableFuture<RenewReply.Item> move(long ours, Etcd.Leased old, long forNanos) {
        long sentAtNanos = shared.runtime.nanoTime();
        return etcd.lease(secondsFor(forNanos)).thenCompose(leased -> {
            synchronized (this) {
                if (ended) {
                    return done(new RenewReply.NotOurs());
                }
                // From now on both may keep the key; whichever does, revoking this one prevents late copies.
                lease = leased;
            }
            return etcd.move(key, ours, value, leased.id()).thenApply(moved -> {
                if (!moved.isSucceeded()) {
                    return new RenewReply.NotOurs();
                }
                etcd.revoke(old.id());
                return renewed(leased, moved, sentAtNanos, forNanos);
            });
        });
    }

    /** The watch of our own key, from the making of this revision. */
    private final class Own implements Etcd.Deletion {
        private final long made;

        Own(long made) {
            this.made = made;
        }

        @Override
        public void deleted(long revision) {
            ownIsGone(made);
        }

        @Override
        public void broken() {
            if (isHeldSince(made)) {
                shared.events.suspended(Place.this);
            }
        }

        @Override
        public void over() {
            synchronized (Place.this) {
                guarding = null; // The next renewal watches again.
            }
        }
    }

    private synchronized boolean isHeldSince(long made) {
        return held && !ended && revision == made;
    }

    private void guard(long made) {
        long seen;
        synchronized (this) {
            if (!isHeldSince(made) || guarding != null) {
                return;
            }
            seen = seenAtRevision;
        }
        Watch.Watcher watcher = etcd.onDeletion(key, seen + 1, new Own(made));
        boolean late;
        synchronized (this) {
            late = !isHeldSince(made) || guarding != null;
            if (!late) {
                guarding = watcher;
            }
        }
        if (late) {
            close(watcher);
        }
    }

    private void ownIsGone(long made) {
        Etcd.Leased leased;
        synchronized (this) {
            leased = lease;
            if (!isHeldSince(made) || leased == null) {
                return;
            }
        }
        // A key that was deleted by hand leaves its lease behind, so only an answer tells the one from the other.
        TimeLimit.within(
                        shared.runtime,
                        CAUSE_NANOS,
                        () -> etcd.remaining(leased.id())
                                .thenApply(
                                        left -> left.isPresent() ? LossCause.FORCE_RELEASED : LossCause.SESSION_LOST),
                        error -> LossCause.SESSION_LOST,
                        () -> LossCause.SESSION_LOST)
                .thenAccept(cause -> taken(made, cause));
    }

    private void taken(long made, LossCause cause) {
        synchronized (this) {
            if (!isHeldSince(made)) {
                return;
            }
            keyIsGone();
        }
        shared.events.taken(this, cause);
        end();
    }

    /** Called under the guard. */
    private void keep(long untilAtNanos) {
        keptUntilAtNanos = untilAtNanos;
        if (ended || (timer != null && timerAtNanos - untilAtNanos <= 0)) {
            return; // It looks again when it fires.
        }
        cancel(timer);
        arm();
    }

    private void arm() {
        timerAtNanos = keptUntilAtNanos;
        timer = shared.runtime.schedule(keptUntilAtNanos - shared.runtime.nanoTime(), this::timeIsUp);
    }

    private void timeIsUp() {
        synchronized (this) {
            timer = null;
            if (ended) {
                return;
            }
            if (keptUntilAtNanos - shared.runtime.nanoTime() > 0) {
                arm();
                return;
            }
        }
        end();
    }

    // ---- ending

    /**
     * Removes the key, now and, if that fails, again until it is gone or its lease has ended by itself.
     *
     * @return whether it held until now
     */
    CompletableFuture<Boolean> end() {
        long goneByItselfAtNanos;
        synchronized (this) {
            ended = true;
            cancel(timer);
            cancel(heartbeat);
            timer = null;
            heartbeat = null;
            goneByItselfAtNanos = lease == null ? shared.runtime.nanoTime() : leasedFromNanos + 2 * lease.ttlNanos();
        }
        CompletableFuture<Boolean> removal = inTurn(this::remove);
        removal.whenComplete((was, error) -> {
            if (error == null || shared.runtime.nanoTime() - goneByItselfAtNanos > 0) {
                shared.events.over(this);
            } else {
                shared.runtime.schedule(REMOVAL_PAUSE_NANOS, this::end);
            }
        });
        return removal;
    }

    /** Only in turn. */
    private CompletableFuture<Boolean> remove() {
        Etcd.Leased leased;
        long ours;
        boolean was;
        Watch.Watcher awaited;
        Watch.Watcher guarded;
        synchronized (this) {
            leased = lease;
            ours = revision;
            was = held;
            awaited = awaiting;
            guarded = guarding;
            awaiting = null;
            guarding = null;
            queued = false;
        }
        close(awaited);
        close(guarded);
        if (leased == null) {
            return done(false);
        }
        if (ours == 0) {
            // A late copy of the request that makes the key cannot succeed any more.
            return etcd.revoke(leased.id()).thenApply(nothing -> gone(false));
        }
        return etcd.leave(key, ours, shared.keys.released()).thenApply(left -> {
            etcd.revoke(leased.id());
            return gone(was && left);
        });
    }

    private synchronized boolean gone(boolean was) {
        leaseIsGone();
        return was;
    }

    private static void cancel(LockRuntime.@Nullable Timer timer) {
        if (timer != null) {
            timer.cancel();
        }
    }

    private static void close(Watch.@Nullable Watcher watcher) {
        if (watcher != null) {
            watcher.close();
        }
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
