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
import io.leasehold.spi.KeptUntil;
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
 * <p><b>Who holds</b> is told by the queue alone: the first in it does. A waiter asks when the key before its own has gone,
 * for whatever reason, and that is enough. Each key that goes by itself goes after the validity of its holder: a key that is
 * given back was dead to its holder before, one that nobody renewed is removed no earlier than a ttl after the request that the
 * validity counts from, and its lease outlives that span, too ({@link #countedFromNanos}). What an operator deletes or revokes by
 * hand is a release by force.
 *
 * <p>What is sent for it is sent in turn, and nothing after the removal was asked for. The key is made only if it is not
 * there, so that asking again after a lost reply finds it; and since a key cannot be made under a lease that was revoked, no
 * late copy of a request makes it anew. All fields that change are guarded by {@code this}; nobody is called while it is held.
 */
final class Place {

    private static final int MOST_LOOKS = 8;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    private static final long LEAST_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MOST_PATIENCE_NANOS = Duration.ofDays(1).toNanos();
    /** How long a lost holder may be left without its cause. */
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
    /** After this the store removes the key by itself: nobody renewed or asked for it. */
    private final KeptUntil kept;

    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    private Etcd.@Nullable Leased lease;
    /** From when the lease may be counted. */
    private long leasedFromNanos;
    /** The lease under which the key is being put: nobody knows yet which of the two it is under. */
    private Etcd.@Nullable Leased moving;

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
    /** Of our own key, while we hold. */
    private @Nullable KeyWatch guarding;

    Place(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.etcd = shared.etcd;
        this.name = request.name();
        this.owner = request.owner();
        this.key = shared.keys.of(name, owner);
        this.queue = shared.keys.queue(name);
        this.value = Keys.bytes(request.holderId());
        this.ttlNanos = request.ttlNanos();
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
        long limitNanos = Math.min(request.timeoutNanos(), MOST_PATIENCE_NANOS);
        long recheckNanos = Math.min(request.recheckNanos(), MOST_PATIENCE_NANOS);
        kept.atLeast(shared.runtime.nanoTime() + LEAST_PATIENCE_NANOS + limitNanos + recheckNanos * 3 / 2);
    }

    /**
     * Called under the guard. Whether this is a recheck that the watch answers: asking the cluster would tell nothing new. A
     * waiter that asks sooner than for a recheck was told something, and is not put off.
     */
    private boolean isTold(AcquireRequest request) {
        long nowNanos = shared.runtime.nanoTime();
        return request.isWaiting()
                && nowNanos - queuedAtNanos >= request.recheckNanos() / 2
                && !ended
                && queued
                && lease != null
                && nowNanos - leasedFromNanos < lease.ttlNanos();
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

    /** The key is gone as well, or goes with it. */
    private void leaseIsGone() {
        synchronized (this) {
            lease = null;
            moving = null;
        }
        keyIsGone();
    }

    private void keyIsGone() {
        close(forgetKey());
    }

    private synchronized @Nullable KeyWatch forgetKey() {
        revision = 0;
        held = false;
        queued = false;
        KeyWatch watch = guarding;
        guarding = null;
        return watch;
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
            if (error == null && kept.isEmpty()) {
                leaseIsGone();
                shared.events.woken(this);
                return;
            }
            synchronized (this) {
                if (error == null && lease != null && lease.id() == leased.id()) {
                    leasedFromNanos = sentAtNanos;
                }
                beat();
            }
        });
    }

    // ---- holding

    private CompletableFuture<AcquireReply> grant() {
        Etcd.Leased leased;
        long made;
        long fromNanos;
        KeyWatch old;
        synchronized (this) {
            leased = lease;
            made = revision;
            fromNanos = leasedFromNanos;
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
            if (ended || leased == null || made == 0) {
                return done(givenUp("the attempt was taken back"));
            }
            first = !held;
            held = true;
        }
        if (first) {
            kept.exactly(fromNanos + ttlNanos);
            shared.runtime.schedule(WATCHED_AFTER_NANOS, () -> guard(made));
        } else {
            kept.atLeast(fromNanos + ttlNanos);
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

    /** Extends the lease, or puts the key under a longer one, and looks whether the key is still there. */
    CompletableFuture<RenewReply.Item> renew(long forNanos) {
        Etcd.Leased leased;
        long ours;
        synchronized (this) {
            leased = lease;
            if (leased == null || !held || ended) {
                return done(new RenewReply.NotOurs());
            }
            if (moving != null || leased.ttlNanos() < forNanos) {
                return inTurn(() -> move(forNanos));
            }
            ours = revision;
        }
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<Optional<Etcd.Leased>> keeping = etcd.keepAlive(leased.id());
        return etcd.look(key, ours, queue)
                .thenCombine(
                        keeping,
                        (found, longer) -> longer.isEmpty() || !found.isSucceeded()
                                ? new RenewReply.NotOurs()
                                : renewed(longer.get(), found, sentAtNanos, forNanos));
    }

    private RenewReply.Item renewed(Etcd.Leased longer, TxnResponse found, long sentAtNanos, long forNanos) {
        long made;
        synchronized (this) {
            made = revision;
            if (!held || ended) {
                return new RenewReply.NotOurs();
            }
            lease = longer;
            leasedFromNanos = sentAtNanos;
            seenAtRevision = found.getHeader().getRevision();
        }
        kept.atLeast(sentAtNanos + forNanos);
        guard(made);
        return new RenewReply.Renewed(countedFromNanos(longer, sentAtNanos, forNanos));
    }

    /**
     * A lease of etcd cannot be made longer, so the key is put under another. While that is not answered, the key may be
     * under either of the two, and a copy of the request may still come: so nothing is told, and the next renewal repeats the request
     * with the same new lease, which any copy agrees with. Only in turn.
     */
    private CompletableFuture<RenewReply.Item> move(long forNanos) {
        Etcd.Leased begun;
        synchronized (this) {
            begun = moving;
            if (lease == null || !held || ended) {
                return done(new RenewReply.NotOurs());
            }
        }
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<Optional<Etcd.Leased>> leasing =
                begun == null ? etcd.lease(secondsFor(forNanos)).thenApply(Optional::of) : etcd.keepAlive(begun.id());
        return leasing.thenCompose(leased -> {
            if (leased.isEmpty()) {
                // The key went with that lease, or will never be under it: no copy of the request can succeed any more.
                synchronized (this) {
                    moving = null;
                }
                return move(forNanos);
            }
            return moveTo(leased.get(), sentAtNanos, forNanos);
        });
    }

    private CompletableFuture<RenewReply.Item> moveTo(Etcd.Leased next, long sentAtNanos, long forNanos) {
        long ours;
        boolean over;
        synchronized (this) {
            over = !held || ended;
            ours = revision;
            if (!over) {
                moving = next;
            }
        }
        if (over) {
            etcd.revoke(next.id());
            return done(new RenewReply.NotOurs());
        }
        return etcd.move(key, ours, value, next.id()).thenApply(moved -> {
            // Not done: the key is gone, and the removal that follows ends both leases.
            return moved.isSucceeded() ? movedTo(next, moved, sentAtNanos, forNanos) : new RenewReply.NotOurs();
        });
    }

    private RenewReply.Item movedTo(Etcd.Leased next, TxnResponse moved, long sentAtNanos, long forNanos) {
        Etcd.Leased old;
        synchronized (this) {
            old = lease;
            moving = null;
            lease = next;
        }
        if (old != null && old.id() != next.id()) {
            etcd.revoke(old.id());
        }
        return renewed(next, moved, sentAtNanos, forNanos);
    }

    private synchronized boolean isHeldSince(long made) {
        return held && !ended && revision == made;
    }

    /** Watches our own key, once; a watch that has ended is made again by the next renewal. */
    private void guard(long made) {
        KeyWatch watch;
        long fromRevision;
        synchronized (this) {
            if (!isHeldSince(made) || guarding != null) {
                return;
            }
            watch = new KeyWatch(etcd, key, (own, what) -> ownHeard(made, own, what));
            guarding = watch;
            fromRevision = seenAtRevision + 1;
        }
        watch.begin(fromRevision);
    }

    private void ownHeard(long made, KeyWatch watch, KeyWatch.Heard what) {
        switch (what) {
            case DELETED -> ownIsGone(made);
            case BROKEN -> {
                if (isHeldSince(made)) {
                    shared.events.suspended(this);
                }
            }
            case OVER -> {
                synchronized (this) {
                    if (guarding == watch) {
                        guarding = null;
                    }
                }
            }
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
        KeyWatch watch;
        synchronized (this) {
            if (!isHeldSince(made)) {
                return;
            }
            watch = forgetKey();
        }
        close(watch);
        shared.events.taken(this, cause);
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
        LockRuntime.Timer beating;
        synchronized (this) {
            ended = true;
            beating = heartbeat;
            heartbeat = null;
            goneByItselfAtNanos = lease == null ? shared.runtime.nanoTime() : leasedFromNanos + 2 * lease.ttlNanos();
        }
        kept.end();
        if (beating != null) {
            beating.cancel();
        }
        CompletableFuture<Boolean> removal = inTurn(this::remove);
        removal.whenComplete((was, error) -> {
            if (error == null || shared.runtime.nanoTime() - goneByItselfAtNanos > 0) {
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
        Etcd.Leased leased;
        Etcd.Leased other;
        long ours;
        KeyWatch awaited;
        KeyWatch guarded;
        synchronized (this) {
            leased = lease;
            other = moving;
            ours = revision;
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
        return etcd.delete(key, ours).thenApply(deleted -> {
            etcd.revoke(leased.id());
            if (other != null) {
                etcd.revoke(other.id());
            }
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
