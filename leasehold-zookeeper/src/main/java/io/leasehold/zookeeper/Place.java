// Long because every step reads or changes the same few fields under one guard.
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
import io.leasehold.spi.PlainName;
import io.leasehold.spi.TimeLimit;
import io.leasehold.spi.TokenRange;
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
 * <p>What is sent for it is sent in turn, so that at most one node is ever being made, and nothing after the removal was
 * asked for. A node whose making was not answered is looked for before another is made. All fields that change are
 * guarded by {@code this}; nobody is called while it is held.
 */
final class Place {

    private static final int MOST_LOOKS = 8;
    private static final long LEAST_PATIENCE_NANOS = Duration.ofSeconds(3).toNanos();
    private static final long LOSS_NOTICE_NANOS = Duration.ofSeconds(4).toNanos();
    /** How long a lost holder may be left without its cause: clearly less than {@link #LOSS_NOTICE_NANOS}. */
    private static final long CAUSE_NANOS = Duration.ofMillis(500).toNanos();

    private static final long REMOVAL_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    /** What the places of a store share. */
    record Shared(ZooKeeperUri uri, LockRuntime runtime, Heads heads, Events events) {}

    /** Hears of a place. */
    interface Events {
        /** Asking again may be worth it. */
        void woken(Place place);

        /** The node was taken away while it held. */
        void taken(Place place, LossCause cause);

        /** Nothing of it is left at the ensemble. */
        void over(Place place);
    }

    private final Shared shared;
    private final LockName name;
    private final OwnerToken owner;
    private final String id;
    private final String lockPath;
    private final byte[] data;
    private final long ttlNanos;

    private CompletableFuture<?> tail = CompletableFuture.completedFuture(null);
    private @Nullable Session session;
    /** The whole path of our node, while we believe in it. */
    private @Nullable String node;

    private long czxid;
    /** A node may have been made that we have not heard of. */
    private boolean uncertain;

    private boolean held;
    private boolean ended;
    /** The node before ours, while its watch stands. */
    private @Nullable String awaited;

    private @Nullable Holder holder;
    /** What we awaited was lost, and its holder is given time to hear of it. */
    private boolean pausing;

    /** When we last said that we wait. */
    private long queuedAtNanos;

    /** After this the store removes the node by itself: nobody renewed or asked for it. */
    private long keptUntilAtNanos;

    private LockRuntime.@Nullable Timer timer;
    private long timerAtNanos;
    private final Consumer<Watcher.Event.EventType> onAwaited = this::awaitedHasGone;
    private final Consumer<Watcher.Event.EventType> onTaken = this::ownHasChanged;

    Place(Shared shared, AcquireRequest request) {
        this.shared = shared;
        this.name = request.name();
        this.owner = request.owner();
        this.id = owner.publicId();
        this.lockPath = shared.uri.chroot() + "/" + PlainName.of(name);
        this.data = request.holderId().getBytes(StandardCharsets.UTF_8);
        this.ttlNanos = request.ttlNanos();
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
                pausing = false;
            }
            keepAtLeast(shared.runtime.nanoTime() + patienceNanos(request));
            if (!ended
                    && request.isWaiting()
                    && (pausing || isRecheck(request))
                    && node != null
                    && awaited != null
                    && in.isConnected()) {
                // The watch tells; asking the ensemble again would tell nothing new.
                queuedAtNanos = shared.runtime.nanoTime();
                return done(new AcquireReply.Queued(holder, 0, List.of()));
            }
        }
        return inTurn(() -> look(request, in, 0));
    }

    /** Called under the guard. Who asks again sooner than for a recheck was told something, and is not put off. */
    private boolean isRecheck(AcquireRequest request) {
        return request.isWaiting() && shared.runtime.nanoTime() - queuedAtNanos >= request.recheckNanos() / 2;
    }

    /** A waiter asks again within its recheck; one that has been silent for clearly longer is forgotten. */
    private static long patienceNanos(AcquireRequest request) {
        return LEAST_PATIENCE_NANOS + Math.min(request.recheckNanos(), Long.MAX_VALUE / 8) * 3 / 2;
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
        if (looks >= MOST_LOOKS) {
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
        return children(in, true).thenCompose(queue -> {
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

    private CompletableFuture<List<String>> children(Session in, boolean latest) {
        CompletableFuture<List<String>> children = latest ? in.latestChildren(lockPath) : in.children(lockPath);
        return children.handle((found, error) -> {
                    if (error == null) {
                        return done(Znodes.inOrder(found));
                    }
                    return Failures.isMissing(error)
                            ? done(List.<String>of())
                            : CompletableFuture.<List<String>>failedFuture(error);
                })
                .thenCompose(next -> next);
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
        CompletableFuture<List<String>> listing = children(in, false);
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
        CompletableFuture<List<String>> listing = children(in, false);
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

    /** Awaits the node before ours, and only that: its end wakes one waiter, not all of them. */
    private CompletableFuture<AcquireReply> queue(
            AcquireRequest request, Session in, List<String> queue, int place, int looks) {
        String before = lockPath + "/" + queue.get(place - 1);
        synchronized (this) {
            awaited = before;
        }
        in.onEvent(before, onAwaited);
        CompletableFuture<Session.Node> watching = in.read(before, true);
        return watching.handle((found, error) -> {
                    if (Failures.isMissing(error)) {
                        return in.read(lockPath, false)
                                .thenCompose(above -> goneMeanwhile(request, in, before, above, looks));
                    }
                    if (error != null) {
                        forgetAwaited(in);
                        return CompletableFuture.<AcquireReply>failedFuture(error);
                    }
                    return shared.heads
                            .holderOf(in, lockPath + "/" + queue.get(0))
                            .thenApply(head -> queued(head.orElse(null)));
                })
                .thenCompose(next -> next);
    }

    /** The node before ours went before it could be watched: given back, or lost as in {@link #awaitedHasGone}. */
    private CompletableFuture<AcquireReply> goneMeanwhile(
            AcquireRequest request, Session in, String before, Session.Node above, int looks) {
        if (before.endsWith("/" + new String(above.data(), StandardCharsets.UTF_8))) {
            forgetAwaited(in);
            return look(request, in, looks);
        }
        in.forget(before, onAwaited);
        awaitedHasGone(Watcher.Event.EventType.NodeDeleted);
        return done(queued(null));
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

    private CompletableFuture<AcquireReply> grant(Session in, String own, long sentAtNanos) {
        long token;
        synchronized (this) {
            token = shared.uri.tokenBase() + czxid;
        }
        String refusal = refusal(in, token);
        if (refusal != null) {
            UnsafeStoreException error = new UnsafeStoreException(refusal, null);
            return remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, error, 0));
        }
        boolean first;
        synchronized (this) {
            if (ended) {
                return done(given("the attempt was taken back"));
            }
            first = !held;
            held = true;
            keep(sentAtNanos + ttlNanos);
        }
        if (first) {
            // Tells of a release by force at once. Not waited for: the node's absence is found at the renewal as well.
            in.onEvent(own, onTaken);
            in.read(own, true).whenComplete((found, error) -> {
                if (Failures.isMissing(error)) {
                    ownIsGone(LossCause.FORCE_RELEASED);
                }
            });
        }
        Grant grant = new Grant(
                owner, TokenRange.of(token, 1), in.countedFromNanos(sentAtNanos, ttlNanos), Incarnation.DURABLE);
        return done(new AcquireReply.Granted(grant, List.of()));
    }

    private @Nullable String refusal(Session in, long token) {
        if (token >= TokenRange.LIMIT) {
            return "lock \"" + name + "\" at " + shared.uri + ": tokenBase " + shared.uri.tokenBase()
                    + " and the zxid together reach 2^53, where fencing tokens end; use a smaller tokenBase";
        }
        if (in.timeoutNanos() < ttlNanos) {
            return "lock \"" + name + "\" at " + shared.uri + ": the ttl of " + Duration.ofNanos(ttlNanos)
                    + " is longer than the session timeout of " + Duration.ofNanos(in.timeoutNanos())
                    + " that the ensemble granted; use a shorter ttl, or raise sessionTimeout in the URI and"
                    + " maxSessionTimeout at the members";
        }
        return null;
    }

    // ---- holding

    /** The session was proven by an exchange sent then. */
    synchronized void renewed(long sentAtNanos, long forNanos) {
        if (held && !ended) {
            keep(sentAtNanos + forNanos);
        }
    }

    /** Called under the guard. */
    private void keepAtLeast(long untilAtNanos) {
        keep(timer != null && keptUntilAtNanos - untilAtNanos > 0 ? keptUntilAtNanos : untilAtNanos);
    }

    /** Called under the guard. */
    private void keep(long untilAtNanos) {
        keptUntilAtNanos = untilAtNanos;
        if (ended || (timer != null && timerAtNanos - untilAtNanos <= 0)) {
            return; // It looks again when it fires.
        }
        if (timer != null) {
            timer.cancel();
        }
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

    /**
     * A node that was not given back was lost by somebody who may not know it yet: the ensemble has just closed that
     * connection, and the driver waits for up to two seconds before it connects again. So whoever waited lets that time pass, twice.
     */
    private void awaitedHasGone(Watcher.Event.EventType event) {
        if (event == Watcher.Event.EventType.NodeDeleted) {
            synchronized (this) {
                pausing = true;
            }
            shared.runtime.schedule(LOSS_NOTICE_NANOS, this::awaitedIsOver);
        } else {
            awaitedIsOver();
        }
    }

    private void awaitedIsOver() {
        synchronized (this) {
            awaited = null;
            pausing = false;
            if (ended) {
                return;
            }
        }
        shared.events.woken(this);
    }

    private void ownHasChanged(Watcher.Event.EventType event) {
        Session in = session();
        String own = heldNode();
        if (event != Watcher.Event.EventType.NodeDeleted || in == null || own == null) {
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
            if (timer != null) {
                timer.cancel();
                timer = null;
            }
        }
        CompletableFuture<Boolean> removal = inTurn(this::remove);
        removal.whenComplete((held, error) -> {
            Session in = session();
            if (error == null || in == null || in.isEnded()) {
                shared.events.over(this);
            } else {
                shared.runtime.schedule(REMOVAL_PAUSE_NANOS, this::end);
            }
        });
        return removal;
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
            return in.leave(own)
                    .handle((nothing, error) -> {
                        if (error != null && !Failures.isMissing(error)) {
                            return CompletableFuture.<Boolean>failedFuture(error);
                        }
                        boolean was = error == null && wasHeld();
                        nodeIsGone();
                        return done(was);
                    })
                    .thenCompose(next -> next);
        }
        return search ? shared.heads.removeAll(in, lockPath, id).thenApply(held -> removed()) : done(false);
    }

    private synchronized boolean wasHeld() {
        return held;
    }

    private synchronized boolean removed() {
        uncertain = false;
        return false;
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
