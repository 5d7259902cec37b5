package io.leasehold.zookeeper;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.EntryRequests;
import io.leasehold.spi.toolkit.KeptUntil;
import io.leasehold.spi.toolkit.PlainName;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.Sending;
import io.leasehold.spi.toolkit.TokenBase;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.jspecify.annotations.Nullable;

/**
 * The place of one owner token in the queue of one lock: at most one node, from its creation to its removal.
 *
 * <p><b>The queue alone decides which place holds:</b> the first node in it does. A waiter asks when the node before
 * its own is gone, for whatever reason, and that is enough. A node that goes by itself goes after the validity of its
 * holder:
 *
 * <ul>
 *   <li>A released node was invalid for its holder before.
 *   <li>A node that is not renewed is removed no earlier than a ttl after the exchange from which the validity counts.
 *   <li>A session outlives that span, too ({@link Session#countedFromNanos}).
 * </ul>
 *
 * <p>If an operator removes a node or ends a session by hand, that is a release by force.
 *
 * <p>Requests for a place are sent one after another. So at most one node is being created at any time, and nothing is
 * sent after the removal was requested. If the creation of a node was not answered, the place searches for that node
 * before it creates another one. {@link QueuePlace} decides what follows from a finding. All mutable fields are guarded
 * by {@code this}; no call is made while it is held.
 */
final class QueueEntry {

    /** The parts that the places of a store share. */
    record Shared(
            ZooKeeperUri uri,
            LockRuntime runtime,
            TokenBase tokens,
            QueueHeads heads,
            Failures failures,
            PlaceEvents events) {}

    private final Shared shared;
    /** The id in the name of its node, which stays when the node becomes that of a reader. */
    private final String id;

    private final String lockPath;
    private final long ttlNanos;
    private final QueuePlace<OwnNode.Made> place;
    private final AwaitedNode awaited;
    private final NextInLine line = new NextInLine();
    private final NodesBefore before;
    private final NodeDowngrade downgrade;
    private final EntryRequests requests;
    /** The time after which the store removes the node by itself, because no renewal and no request came. */
    private final KeptUntil kept;

    /** The attempt that has the place: once it is downgraded, that of the reader. */
    private volatile Attempt attempt;

    private record Attempt(LockName name, OwnerToken owner, EntryData data) {}

    private @Nullable Session session;
    /** The node with which the place holds or is next in line, or last did so. */
    private @Nullable OwnNode watched;
    /** Whether the ensemble may have created a node that this client does not know. */
    private boolean uncertain;

    private boolean heldToTheEnd;

    QueueEntry(Shared shared, AcquireRequest request) {
        this.shared = shared;
        LockName name = request.name();
        OwnerToken owner = request.owner();
        this.attempt = new Attempt(name, owner, EntryData.of(name, owner, request.holderId()));
        this.id = owner.publicId();
        this.lockPath = shared.uri.chroot() + "/" + PlainName.of(name);
        this.ttlNanos = request.ttlNanos();
        this.place = new QueuePlace<>(name, shared.uri.toString());
        this.before = new NodesBefore(shared.heads, lockPath, name.isRead());
        this.downgrade = new NodeDowngrade(shared.runtime, place, this::downgraded);
        this.awaited = new AwaitedNode(place, this::woken);
        this.requests =
                new EntryRequests(shared.runtime, this::remove, this::isGoneByItself, () -> shared.events.over(this));
        this.kept = new KeptUntil(shared.runtime, this::end);
    }

    LockName name() {
        return attempt.name();
    }

    OwnerToken owner() {
        return attempt.owner();
    }

    synchronized boolean isIn(Session one) {
        return session == one;
    }

    /**
     * Reports the end of its session, and with it of its node. The place creates no other node, because the store
     * forgets it.
     *
     * @return whether this was its session
     */
    boolean endedWith(Session one) {
        if (!isIn(one)) {
            return false;
        }
        boolean held = place.end();
        synchronized (this) {
            heldToTheEnd |= held;
        }
        kept.end();
        return true;
    }

    /** Whether it held when its session ended. */
    synchronized boolean hasHeld() {
        return heldToTheEnd;
    }

    boolean isHeld() {
        return place.held() != null;
    }

    /** The path of the node with which it holds in this session, or null. */
    @Nullable
    String heldNode() {
        OwnNode.Made own = place.held();
        return own == null ? null : own.path();
    }

    synchronized @Nullable Session session() {
        return session;
    }

    // ---- asking

    /** Keeps the attempt for this request. If it is then silent for clearly longer than allowed, it is forgotten. */
    void keepFor(AcquireRequest request) {
        kept.atLeast(QueuePlace.forgottenAtNanos(request, shared.runtime.nanoTime()));
    }

    /** Carries out a request in this session. */
    CompletableFuture<AcquireReply> ask(AcquireRequest request, Session in) {
        synchronized (this) {
            if (session != in) {
                // The nodes of the ended session are gone, or go when the ensemble detects its end.
                uncertain = session != null;
                session = in;
                place.gone();
            }
        }
        Optional<AcquireReply> told = place.recheck(request, in.isConnected(), shared.runtime.nanoTime());
        if (told.isEmpty()) {
            return requests.inTurn(() -> look(request, in, 0));
        }
        in.keepProvenFor(request, lockPath);
        return done(told.get());
    }

    private CompletableFuture<AcquireReply> look(AcquireRequest request, Session in, int looks) {
        boolean search;
        synchronized (this) {
            search = uncertain || !request.isWaiting();
        }
        Optional<AcquireReply> givenUp = isIn(in) ? place.givenUp(looks) : Optional.of(takenBack());
        if (givenUp.isPresent()) {
            return done(givenUp.get());
        }
        OwnNode.Made own = place.entry();
        if (own != null) {
            return in.proofFor(request)
                    .map(proof -> line.isFirst(own) && in.isConnected()
                            ? grant(in, own, counted(proof), ttlNanos)
                            : turn(request, in, own, looks))
                    .orElseGet(() -> confirm(request, in, own, looks));
        }
        return search ? search(request, in, looks) : make(request, in, looks);
    }

    private AcquireReply takenBack() {
        return place.givenUp("the attempt was taken back");
    }

    /**
     * Searches the queue before a node is created: for a node of this place, and, if the attempt does not wait, for
     * whether the lock is free.
     */
    private CompletableFuture<AcquireReply> search(AcquireRequest request, Session in, int looks) {
        return shared.heads.queueOf(in, lockPath, true).thenCompose(queue -> {
            for (String child : queue) {
                if (Znodes.belongsTo(child, id)) {
                    return adopt(in, lockPath + "/" + child).thenCompose(nothing -> look(request, in, looks + 1));
                }
            }
            certain();
            if (request.isWaiting()) {
                return make(request, in, looks);
            }
            return before.isBusy(in, queue).thenCompose(isBusy -> isBusy ? busy(in, queue) : make(request, in, looks));
        });
    }

    private synchronized void certain() {
        uncertain = false;
    }

    /**
     * Adopts a node with this id if this session created it. A node of another session is about to go, and is deleted.
     */
    private CompletableFuture<Boolean> adopt(Session in, String path) {
        return QueueHeads.unlessMissing(
                in.read(path, false).thenCompose(found -> {
                    if (found.session() != in.id()) {
                        return shared.heads.delete(in, path);
                    }
                    place.made(new OwnNode.Made(path, found.czxid()));
                    certain();
                    return done(true);
                }),
                false);
    }

    private CompletableFuture<AcquireReply> make(AcquireRequest request, Session in, int looks) {
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<SessionCalls.Created> making = in.create(
                lockPath + "/" + Znodes.prefixFor(id), attempt.data().bytes(), CreateMode.EPHEMERAL_SEQUENTIAL);
        // Sent at once: it is answered after the creation, in the order that the leader gives to both.
        CompletableFuture<List<String>> listing = shared.heads.queueOf(in, lockPath, false);
        return making.handle((made, error) -> {
                    if (error == null) {
                        OwnNode.Made own = new OwnNode.Made(made.path(), made.czxid());
                        place.made(own);
                        return listing.thenCompose(queue -> view(in, queue, own))
                                .thenCompose(view -> decide(request, in, own, view, sentAtNanos, looks));
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

    /**
     * Reads whether its turn has come. The member may show an old state, which does no harm. A node before its own that
     * is gone stays gone. Its own node exists as long as its session, which was proven recently, or until it is removed
     * by force.
     */
    private CompletableFuture<AcquireReply> turn(AcquireRequest request, Session in, OwnNode.Made own, int looks) {
        return shared.heads
                .queueOf(in, lockPath, false)
                .thenCompose(queue -> view(in, queue, own))
                // Check the proof again: the machine may have slept before the answer was read.
                .thenCompose(view -> in.proofFor(request)
                        .map(proof -> decide(request, in, own, view, counted(proof), looks))
                        .orElseGet(() -> confirm(request, in, own, looks)));
    }

    /** Checks whether a node that was created earlier still exists, by an exchange that proves the session. */
    private CompletableFuture<AcquireReply> confirm(AcquireRequest request, Session in, OwnNode.Made own, int looks) {
        long sentAtNanos = shared.runtime.nanoTime();
        CompletableFuture<List<Boolean>> confirming = in.confirm(List.of(own.path()));
        CompletableFuture<List<String>> listing = shared.heads.queueOf(in, lockPath, false);
        return confirming.thenCompose(there -> {
            if (there.get(0)) {
                return listing.thenCompose(queue -> view(in, queue, own))
                        .thenCompose(view -> decide(request, in, own, view, sentAtNanos, looks));
            }
            place.gone();
            return look(request, in, looks + 1);
        });
    }

    private CompletableFuture<NodesBefore.View> view(Session in, List<String> queue, OwnNode.Made own) {
        return before.of(in, queue, own.path().substring(lockPath.length() + 1));
    }

    private CompletableFuture<AcquireReply> decide(
            AcquireRequest request, Session in, OwnNode.Made own, NodesBefore.View view, long fromNanos, int looks) {
        if (view.ours() < 0) {
            place.gone();
            return look(request, in, looks + 1);
        }
        for (String child : view.queue()) {
            if (Znodes.belongsTo(child, id) && !own.path().endsWith(child)) {
                return shared.heads
                        .delete(in, lockPath + "/" + child)
                        .thenCompose(nothing -> look(request, in, looks + 1));
            }
        }
        String blocking = view.blocking();
        if (blocking == null) {
            return grant(in, own, fromNanos, ttlNanos);
        }
        return request.isWaiting()
                ? queue(request, in, own, view, blocking, looks)
                : remove().thenCompose(nothing -> busy(in, view.queue()));
    }

    private CompletableFuture<AcquireReply> busy(Session in, List<String> queue) {
        return shared.heads
                .holderOf(in, lockPath + "/" + queue.get(0))
                .thenApply(found -> new AcquireReply.Busy(found.orElse(null), 0, List.of()));
    }

    // ---- waiting

    private CompletableFuture<AcquireReply> queue(
            AcquireRequest request, Session in, OwnNode.Made own, NodesBefore.View view, String blocking, int looks) {
        boolean isReader = attempt.data().isReader();
        boolean isNext = view.ours() == 1 && !isReader;
        line.isSecond(isNext ? own : null);
        awaited.await(in, lockPath + "/" + blocking);
        CompletableFuture<SessionCalls.Node> reading = in.read(lockPath + "/" + blocking, true);
        if (isNext) {
            // Then the removal of the only node before it shows that it is first.
            ownNode(in, own).watch();
        }
        return reading.handle((found, error) -> {
                    if (error != null) {
                        awaited.forget(in);
                        // The node went in the meantime. No new node gets in front of this one, so the repetition ends.
                        return Failures.isMissing(error)
                                ? look(request, in, looks)
                                : CompletableFuture.<AcquireReply>failedFuture(error);
                    }
                    if (isReader && QueueHeads.isReader(found)) {
                        awaited.forget(in); // Its writer has become a reader in the meantime, and stays one.
                        return look(request, in, looks);
                    }
                    CompletableFuture<Optional<Holder>> head =
                            view.queue().get(0).equals(blocking)
                                    ? done(Optional.of(shared.heads.holder(found)))
                                    : shared.heads.holderOf(
                                            in, lockPath + "/" + view.queue().get(0));
                    return head.thenApply(holder -> place.queued(holder.orElse(null), shared.runtime.nanoTime()));
                })
                .thenCompose(next -> next);
    }

    private void woken(Watcher.Event.EventType event) {
        OwnNode node;
        synchronized (this) {
            node = watched;
        }
        line.heard(event, node);
        shared.events.woken(this);
    }

    // ---- holding

    private CompletableFuture<AcquireReply> grant(Session in, OwnNode.Made own, long fromNanos, long forNanos) {
        UnsafeStoreException refusal = shared.failures.refusal(name(), token(own), forNanos, in.timeoutNanos());
        return refusal != null
                ? remove().thenApply(nothing -> new AcquireReply.Failed(FailureKind.PERMANENT, refusal, 0))
                : done(granted(in, own, fromNanos, forNanos));
    }

    private long token(OwnNode.Made own) {
        return shared.tokens.token(own.czxid(), attempt.data().generation());
    }

    private AcquireReply granted(Session in, OwnNode.Made own, long fromNanos, long forNanos) {
        // A session is marked as ended before the places that hold in it are notified.
        if (in.isEnded()) {
            return place.givenUp("its session is over");
        }
        if (!place.isHeldWith(own) && isKnownToBeGone(own)) {
            place.gone();
            return place.givenUp("its node was removed by force");
        }
        switch (place.granted(own)) {
            case OVER -> {
                return takenBack();
            }
            case BEGUN -> {
                kept.exactly(fromNanos + forNanos);
                ownNode(in, own).begin();
                if (!place.isHeldWith(own)) {
                    // The loss was already reported, when no holder existed. The engine would believe a grant after it.
                    return place.givenUp("its node was removed at its turn");
                }
            }
            case HELD -> kept.atLeast(fromNanos + forNanos);
        }
        Grant grant = new Grant(
                owner(), TokenRange.of(token(own), 1), in.countedFromNanos(fromNanos, forNanos), Incarnation.DURABLE);
        return new AcquireReply.Granted(grant, List.of());
    }

    /** Makes the node that of a reader, if the place holds as a writer, or as this reader. */
    CompletableFuture<AcquireReply> downgrade(AcquireRequest request) {
        return requests.inTurn(() -> {
            Session in = session();
            return in == null || in.isEnded()
                    ? done(new AcquireReply.Busy(null, 0, List.of()))
                    : downgrade.ask(request, in);
        });
    }

    private AcquireReply downgraded(AcquireRequest request, EntryData data, OwnNode.Made own, long provenAtNanos) {
        Session in = session();
        if (in == null || !place.isHeldWith(own)) {
            return takenBack();
        }
        OwnerToken former = owner();
        attempt = new Attempt(request.name(), request.owner(), data);
        shared.events.downgraded(this, former);
        return granted(in, own, provenAtNanos, request.ttlNanos());
    }

    /** Whether the removal of the node was reported, which nothing that was read before takes back. */
    private synchronized boolean isKnownToBeGone(OwnNode.Made own) {
        return watched != null && watched.isOf(own) && watched.isGone();
    }

    private synchronized OwnNode ownNode(Session in, OwnNode.Made own) {
        OwnNode node = watched;
        if (node == null || !node.isOf(own)) {
            node = new OwnNode(shared.runtime, in, own, place, cause -> shared.events.taken(this, cause));
            watched = node;
        }
        return node;
    }

    /**
     * The time from which a proof counts, by both clocks, because the proof may be older than the granted request.
     * Sleep after that request is detected elsewhere.
     */
    private long counted(Sending proof) {
        return proof.countedFromNanos(shared.runtime);
    }

    /** Notes that an exchange that was sent at this time has proven the session. */
    void renewed(long sentAtNanos, long forNanos) {
        OwnNode own;
        synchronized (this) {
            own = watched;
        }
        if (own != null && isHeld()) {
            kept.atLeast(sentAtNanos + forNanos);
            own.watch();
        }
    }

    // ---- ending

    /**
     * Removes the node. If that fails, retries until the node or its session is gone.
     *
     * @return whether it held until now
     */
    CompletableFuture<Boolean> end() {
        place.end();
        kept.end();
        return requests.remove();
    }

    private boolean isGoneByItself() {
        Session in = session();
        return in == null || in.isEnded();
    }

    /** Removes the node; runs only in turn with the other requests. */
    private CompletableFuture<Boolean> remove() {
        Session in;
        boolean search;
        synchronized (this) {
            in = session;
            search = uncertain;
        }
        if (in == null) {
            return done(false);
        }
        awaited.forget(in);
        OwnNode.Made own = place.entry();
        if (own != null) {
            return shared.heads.delete(in, own.path()).thenApply(this::removed);
        }
        return search ? shared.heads.removeAll(in, lockPath, id).thenApply(head -> removed(false)) : done(false);
    }

    private boolean removed(boolean deleted) {
        certain();
        return place.removed(deleted);
    }

    private static <T> CompletableFuture<T> done(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
