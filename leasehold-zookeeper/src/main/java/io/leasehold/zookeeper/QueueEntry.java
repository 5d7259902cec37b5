package io.leasehold.zookeeper;

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
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.KeptUntil;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.spi.toolkit.TimeLimit;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: at most one node, from its making to its removal.
 *
 * <p><b>Who holds</b> is told by the queue alone: the first in it does. A waiter asks when the node before its own has gone,
 * for whatever reason, and that is enough. Each node that goes by itself goes after the validity of its holder: a node that
 * is given back was dead to its holder before, one that nobody renewed is removed no earlier than a ttl after the exchange that the
 * validity counts from, and a session outlives that span, too ({@link Session#countedFromNanos}). What an operator removes or
 * ends by hand is a release by force.
 *
 * <p>What is sent for it is sent in turn, so that at most one node is ever being made, and nothing after the removal was
 * asked for. A node whose making was not answered is looked for before another is made. All fields that change are
 * guarded by {@code this}; nobody is called while it is held.
 */
final class QueueEntry {

    private static final int MAX_LOOKS = 8;
    private static final long MIN_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long MAX_PATIENCE_NANOS = Duration.ofDays(1).toNanos();
    /** How long a lost holder may be left without its cause. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    /** What the places of a store share. */
    record Shared(ZooKeeperUri uri, LockRuntime runtime, QueueHeads heads, Failures failures, Events events) {}

    /** Hears of a place. */
    interface Events {
        /** Asking again may be worth it. */
        void woken(QueueEntry place);

        /** The node was taken away while it held. */
        void taken(QueueEntry place, LossCause cause);

        /** Nothing of it is left at the ensemble. */
        void over(QueueEntry place);
    }

    private final Shared shared;
    private final LockName name;
    private final OwnerToken owner;
    private final String id;
    private final String lockPath;
    private final byte[] data;
    private final long ttlNanos;
    /** After this the store removes the node by itself: nobody renewed or asked for it. */
    private final KeptUntil kept;

    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    private @Nullable Session session;
    /** The whole path of our node, while we believe in it. */
    private @Nullable String node;

    private long czxid;
    /** A node may have been made that we have not heard of. */
    private boolean uncertain;

    private boolean held;
    private boolean ended;
    private boolean repeating;
    /** The node before ours, while its watch stands. */
    private @Nullable String awaited;

    private @Nullable Holder holder;
    /** When we last said that we wait. */
    private long queuedAtNanos;

    private final Consumer<Watcher.Event.EventType> onAwaited = this::awaitedHasChanged;
    private final Consumer<Watcher.Event.EventType> onTaken = this::ownHasChanged;

    QueueEntry(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.name = request.name();
        this.owner = request.owner();
        this.id = owner.publicId();
        this.lockPath = shared.uri.chroot() + "/" + PlainName.of(name);
        this.data = request.holderId().getBytes(StandardCharsets.UTF_8);
        this.ttlNanos = request.ttlNanos();
        this.kept = new KeptUntil(shared.runtime, this::end);
    }

    LockName name() {
        return name;
    }

    OwnerToken owner() {
        return owner;
    }

    synchronized boolean isIn(Session one) {
        return session == one;
    }

    synchronized boolean isHeld() {
        return held && !ended;
    }

    /** The path of the node with which it holds in this session, or null. */
    synchronized @Nullable String heldNode() {
        return held && !ended ? node : null;
    }

    synchronized @Nullable Session session() {
        return session;
    }

    // ---- asking

    /** An attempt waits for its answer, and a waiter asks again within its recheck; what is silent for clearly longer is forgotten. */
    void keepFor(AcquireRequest request) {
        long limitNanos = Math.min(request.timeoutNanos(), MAX_PATIENCE_NANOS);
        long recheckNanos = Math.min(request.recheckNanos(), MAX_PATIENCE_NANOS);
        kept.atLeast(shared.runtime.nanoTime() + MIN_PATIENCE_NANOS + limitNanos + recheckNanos * 3 / 2);
    }

    /** Carries out a request in this session. */
    CompletableFuture<AcquireReply> ask(AcquireRequest request, Session in) {
        synchronized (this) {
            if (session != in) {
                // The nodes of an ended session are gone, or go when the ensemble notices.
                uncertain = session != null;
                session = in;
                node = null;
                held = false;
                awaited = null;
            }
            if (isTold(request, in)) {
                queuedAtNanos = shared.runtime.nanoTime();
                return done(new AcquireReply.Queued(holder, 0, List.of()));
            }
        }
        return inTurn(() -> look(request, in, 0));
    }

    /**
     * Called under the guard. Whether this is a recheck that the watch answers: asking the ensemble would tell nothing new. A
     * waiter that asks sooner than for a recheck was told something, and is not put off.
     */
    private boolean isTold(AcquireRequest request, Session in) {
        return request.isWaiting()
                && shared.runtime.nanoTime() - queuedAtNanos >= request.recheckNanos() / 2
                && !ended
                && node != null
                && awaited != null
                && in.isConnected();
    }

    private synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> step) {
        CompletableFuture<T> next = tail.handle((value, error) -> null).thenCompose(nothing -> step.get());
        tail = next;
        return next;
    }

    private CompletableFuture<AcquireReply> look(AcquireRequest request, Session in, int looks) {
        boolean standing;
        boolean search;
        synchronized (this) {
            if (ended || session != in) {
                return done(given("the attempt was taken back"));
            }
            standing = node != null;
            search = uncertain || !request.isWaiting();
        }
        if (looks >= MAX_LOOKS) {
            return done(given("its node was removed again and again"));
        }
        if (standing) {
            return confirm(request, in, looks);
        }
        return search ? search(request, in, looks) : make(request, in, looks);
    }

    private AcquireReply given(String why) {
        String message = "acquire of \"" + name + "\" at " + shared.uri + " was given up: " + why;
        return new AcquireReply.Failed(FailureKind.NO_EFFECT, new StoreUnavailableException(message, null), 0);
    }

    /** Looks before a node is made: for one of ours, and, for who will not wait, whether it is worth it. */
    private CompletableFuture<AcquireReply> search(AcquireRequest request, Session in, int looks) {
        return shared.heads.queueOf(in, lockPath, true).thenCompose(queue -> {
            for (String child : queue) {
                if (Znodes.belongsTo(child, id)) {
                    return adopt(in, lockPath + "/" + child).thenCompose(nothing -> look(request, in, looks + 1));
                }
            }
            synchronized (this) {
                uncertain = false;
            }
            if (!request.isWaiting() && !queue.isEmpty()) {
                return busy(in, queue);
            }
            return make(request, in, looks);
        });
    }

    /** A node with our id is ours if it was made in this session; one of another session is on its way out. */
    private CompletableFuture<Boolean> adopt(Session in, String path) {
        return in.read(path, false)
                .handle((found, error) -> {
                    if (error != null) {
                        return Failures.isMissing(error) ? done(false) : CompletableFuture.<Boolean>failedFuture(error);
                    }
                    if (found.stat().getEphemeralOwner() != in.id()) {
                        return shared.heads.delete(in, path);
                    }
                    synchronized (this) {
                        node = path;
                        czxid = found.stat().getCzxid();
                        uncertain = false;
                    }
                    return done(true);
                })
                .thenCompose(next -> next);
    }

    private CompletableFuture<AcquireReply> make(AcquireRequest request, Session in, int looks) {
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<Session.Created> making =
                in.create(lockPath + "/" + Znodes.prefixFor(id), data, CreateMode.EPHEMERAL_SEQUENTIAL);
        // Sent at once: it is answered after the making, in the same order as by the leader.
        CompletableFuture<List<String>> listing = shared.heads.queueOf(in, lockPath, false);
        return making.handle((made, error) -> {
                    if (error == null) {
                        synchronized (this) {
                            node = made.path();
                            czxid = made.czxid();
                        }
                        return listing.thenCompose(queue -> decide(request, in, queue, sentAtNanos, looks));
                    }
                    if (Failures.isMissing(error)) {
                        return in.ensure(lockPath).thenCompose(nothing -> look(request, in, looks + 1));
                    }
                    synchronized (this) {
                        uncertain |= Failures.codeOf(error) != KeeperException.Code.NOAUTH;
                    }
                    return CompletableFuture.<AcquireReply>failedFuture(error);
                })
                .thenCompose(next -> next);
    }

    /** The node was made before: whether it is still there, by an exchange that proves the session. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, Session in, int looks) {
        String own;
        synchronized (this) {
            own = node;
        }
        if (own == null) {
            return look(request, in, looks + 1);
        }
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<List<Boolean>> confirming = in.confirm(List.of(own));
        CompletableFuture<List<String>> listing = shared.heads.queueOf(in, lockPath, false);
        return confirming.thenCompose(there -> {
            if (there.get(0)) {
                return listing.thenCompose(queue -> decide(request, in, queue, sentAtNanos, looks));
            }
            nodeIsGone();
            return look(request, in, looks + 1);
        });
    }

    private synchronized void nodeIsGone() {
        node = null;
        held = false;
    }

    private CompletableFuture<AcquireReply> decide(
            AcquireRequest request, Session in, List<String> queue, long sentAtNanos, int looks) {
        String own;
        synchronized (this) {
            own = node;
        }
        int place = own == null ? -1 : queue.indexOf(own.substring(lockPath.length() + 1));
        if (own == null || place < 0) {
            nodeIsGone();
            return look(request, in, looks + 1);
        }
        for (String child : queue) {
            if (Znodes.belongsTo(child, id) && !own.endsWith(child)) {
                return shared.heads
                        .delete(in, lockPath + "/" + child)
                        .thenCompose(nothing -> look(request, in, looks + 1));
            }
        }
        if (place == 0) {
            return grant(in, own, sentAtNanos);
        }
        return request.isWaiting()
                ? queue(request, in, queue, place, looks)
                : remove().thenCompose(nothing -> busy(in, queue));
    }

    private CompletableFuture<AcquireReply> busy(Session in, List<String> queue) {
        return shared.heads
                .holderOf(in, lockPath + "/" + queue.get(0))
                .thenApply(found -> new AcquireReply.Busy(found.orElse(null), 0, List.of()));
    }

    // ---- waiting

    /** Awaits the node before ours, and only that: its end wakes one waiter, not all of them. */
    private CompletableFuture<AcquireReply> queue(
            AcquireRequest request, Session in, List<String> queue, int place, int looks) {
        String before = lockPath + "/" + queue.get(place - 1);
        forgetAwaited(in); // Asked again before its event came: one event calls back once.
        synchronized (this) {
            awaited = before;
        }
        in.onEvent(before, onAwaited);
        return in.read(before, true)
                .handle((found, error) -> {
                    if (error != null) {
                        forgetAwaited(in);
                        // It went meanwhile. Nobody comes before us any more, so this ends.
                        return Failures.isMissing(error)
                                ? look(request, in, looks)
                                : CompletableFuture.<AcquireReply>failedFuture(error);
                    }
                    return shared.heads
                            .holderOf(in, lockPath + "/" + queue.get(0))
                            .thenApply(head -> queued(head.orElse(null)));
                })
                .thenCompose(next -> next);
    }

    private synchronized AcquireReply queued(@Nullable Holder head) {
        holder = head;
        queuedAtNanos = shared.runtime.nanoTime();
        return new AcquireReply.Queued(head, 0, List.of());
    }

    private void forgetAwaited(Session in) {
        String before;
        synchronized (this) {
            before = awaited;
            awaited = null;
        }
        if (before != null) {
            in.forget(before, onAwaited);
        }
    }

    private void awaitedHasChanged(Watcher.Event.EventType event) {
        synchronized (this) {
            awaited = null;
            if (ended) {
                return;
            }
        }
        shared.events.woken(this);
    }

    // ---- holding

    private CompletableFuture<AcquireReply> grant(Session in, String own, long sentAtNanos) {
        long token;
        synchronized (this) {
            token = shared.uri.tokenBase() + czxid;
        }
        UnsafeStoreException refusal = shared.failures.refusal(name, token, ttlNanos, in.timeoutNanos());
        if (refusal != null) {
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, refusal, 0));
        }
        boolean first;
        synchronized (this) {
            // Whoever ends a session says so first, and then tells the places in it that hold.
            if (ended || in.isEnded()) {
                return done(given(ended ? "the attempt was taken back" : "its session is over"));
            }
            first = !held;
            held = true;
        }
        if (first) {
            kept.exactly(sentAtNanos + ttlNanos);
            watchOwn(in, own);
        } else {
            kept.atLeast(sentAtNanos + ttlNanos);
        }
        Grant grant = new Grant(
                owner, TokenRange.of(token, 1), in.countedFromNanos(sentAtNanos, ttlNanos), Incarnation.DURABLE);
        return done(new AcquireReply.Granted(grant, List.of()));
    }

    /** The session was proven by an exchange sent then. */
    void renewed(long sentAtNanos, long forNanos) {
        if (isHeld()) {
            kept.atLeast(sentAtNanos + forNanos);
        }
    }

    /** Tells of a release by force at once. Not waited for: the node's absence is found at the renewal as well. */
    private void watchOwn(Session in, String own) {
        in.onEvent(own, onTaken);
        in.read(own, true).whenComplete((found, error) -> {
            if (error != null) {
                in.forget(own, onTaken);
            }
            if (Failures.isMissing(error)) {
                ownIsGone(LossCause.FORCE_RELEASED);
            }
        });
    }

    private void ownHasChanged(Watcher.Event.EventType event) {
        Session in = session();
        String own = heldNode();
        if (in == null || own == null) {
            return;
        }
        if (event != Watcher.Event.EventType.NodeDeleted) {
            watchOwn(in, own); // A stranger wrote to it, which used up the watch.
            return;
        }
        // The end of a session deletes its nodes before it is told, so only an answer tells the one from the other.
        TimeLimit.within(
                        shared.runtime,
                        CAUSE_NANOS,
                        () -> in.read(own, false).thenApply(found -> LossCause.FORCE_RELEASED),
                        error -> Failures.isMissing(error) ? LossCause.FORCE_RELEASED : LossCause.SESSION_LOST,
                        () -> LossCause.SESSION_LOST)
                .thenAccept(this::ownIsGone);
    }

    private void ownIsGone(LossCause cause) {
        synchronized (this) {
            if (!held || ended) {
                return;
            }
            nodeIsGone();
        }
        shared.events.taken(this, cause);
    }

    // ---- ending

    /**
     * Removes the node, now and, if that fails, again and again until it or its session is gone.
     *
     * @return whether it held until now
     */
    CompletableFuture<Boolean> end() {
        synchronized (this) {
            ended = true;
        }
        kept.end();
        CompletableFuture<Boolean> removal = inTurn(this::remove);
        removal.whenComplete((was, error) -> {
            Session in = session();
            if (error == null || in == null || in.isEnded()) {
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

    /** Only in turn. */
    private CompletableFuture<Boolean> remove() {
        Session in;
        String own;
        boolean search;
        synchronized (this) {
            in = session;
            own = node;
            search = uncertain;
        }
        if (in == null) {
            return done(false);
        }
        forgetAwaited(in);
        if (own != null) {
            in.forget(own, onTaken);
            return shared.heads.delete(in, own).thenApply(this::removed);
        }
        return search ? shared.heads.removeAll(in, lockPath, id).thenApply(head -> removed(false)) : done(false);
    }

    private synchronized boolean removed(boolean was) {
        boolean heldUntilNow = held && was;
        nodeIsGone();
        uncertain = false;
        return heldUntilNow;
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
