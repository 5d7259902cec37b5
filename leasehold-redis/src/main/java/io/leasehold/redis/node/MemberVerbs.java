package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.topology.WakeUps;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReaderReplies;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The verbs of a server that is a member of a set of nodes. They have separate scripts, so that they cost nothing at a
 * server that is a store of its own. Safe for all threads.
 */
final class MemberVerbs {

    private static final char SLOT_END = '/';
    private static final int SLOTS_AT_ONCE = 512;

    private final Requests requests;
    private final WaitAcks acks;
    private final ReplyDecoder decoder;
    private final ReaderReplies ofReaders;
    private final MemberCalls calls;
    private final NodeSettings settings;
    private final Topology topology;
    private final WakeUps wakeUps;
    private final LockRuntime runtime;
    private final ClientPlaces places;
    private final Consumer<LockName> wake;

    MemberVerbs(
            Requests requests,
            WaitAcks acks,
            ReplyDecoder decoder,
            ReaderReplies ofReaders,
            NodeSettings settings,
            Topology topology,
            WakeUps wakeUps,
            LockRuntime runtime,
            Consumer<LockName> wake) {
        this.requests = requests;
        this.acks = acks;
        this.decoder = decoder;
        this.ofReaders = ofReaders;
        this.settings = settings;
        this.calls = new MemberCalls(settings);
        this.topology = topology;
        this.wakeUps = wakeUps;
        this.runtime = runtime;
        this.places = new ClientPlaces(runtime::nanoTime);
        this.wake = wake;
    }

    CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        AcquireRequest request = ballot.request();
        if (!request.isWaiting()) {
            return propose(ballot, membership, 0, request.timeoutNanos(), false);
        }
        long placeNanos = settings.placeMillis(request.recheckNanos()) * 1_000_000;
        ClientPlaces.Entry entered = places.enter(request.name(), request.owner(), placeNanos);
        return proposeAndWatch(ballot, membership, !entered.unwatched()).thenApply(reply -> {
            if (reply instanceof NodeReply.Yes || (entered.first() && !mayBeWatched(reply))) {
                places.leave(request.name(), request.owner());
            }
            return reply;
        });
    }

    private static boolean mayBeWatched(NodeReply reply) {
        return (reply instanceof NodeReply.Held held && held.queued())
                || (reply instanceof NodeReply.Failed failed && failed.kind() == FailureKind.UNKNOWN);
    }

    private CompletableFuture<NodeReply> proposeAndWatch(Ballot ballot, Membership membership, boolean again) {
        AcquireRequest request = ballot.request();
        String lock = settings.keys().lock(request.name());
        long placeMillis = settings.placeMillis(request.recheckNanos());
        if (wakeUps.isLive(lock)) {
            return propose(ballot, membership, placeMillis, request.timeoutNanos(), again);
        }
        long startAtNanos = runtime.nanoTime();
        return propose(ballot, membership, 0, request.timeoutNanos(), again).thenCompose(reply -> {
            if (!(reply instanceof NodeReply.Held)) {
                return CompletableFuture.completedFuture(reply);
            }
            // The answer must not wait for the subscription, since the quorum would wait too.
            wakeUps.started(lock);
            long leftNanos = request.timeoutNanos() - (runtime.nanoTime() - startAtNanos);
            return wakeUps.isLive(lock) && leftNanos > 0
                    ? propose(ballot, membership, placeMillis, leftNanos, true)
                    : CompletableFuture.completedFuture(reply);
        });
    }

    /**
     * Proposes a ballot.
     *
     * @param placeMillis how long the caller is to be woken without a new request, or zero
     */
    private CompletableFuture<NodeReply> propose(
            Ballot ballot, Membership membership, long placeMillis, long timeoutNanos, boolean again) {
        LockName name = ballot.request().name();
        String lock = settings.keys().lock(name);
        String slot = topology.slotTag(lock);
        Requests.Subject subject = new Requests.Subject("acquire", name);
        MemberCalls.Watch watch =
                new MemberCalls.Watch(placeMillis, wakeUps.channel(lock, TimeUnit.MILLISECONDS.toNanos(placeMillis)));
        return acks.acquire(
                subject,
                timeoutNanos,
                calls.acquire(lock, slot, ballot, membership, watch, again),
                (reply, link) -> ofSlot(slot, decoder.acquire(reply, link.incarnation(), subject.toString())));
    }

    /** Adds the slot to a nonce, since each slot of a Cluster has its own life. */
    private static NodeReply ofSlot(String slot, NodeReply reply) {
        return !slot.isEmpty() && reply instanceof NodeReply.Unborn unborn
                ? new NodeReply.Unborn(slot + SLOT_END + unborn.nonce(), unborn.incarnation(), unborn.serverMicros())
                : reply;
    }

    CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, LockNode.Resume step, Membership membership) {
        LockName name = ballot.request().name();
        String lock = settings.keys().lock(name);
        String slot = topology.slotTag(lock);
        Requests.Subject subject = new Requests.Subject("resume", name);
        return acks.acquire(
                subject,
                ballot.request().timeoutNanos(),
                calls.resume(lock, slot, ballot, ticket, step, membership),
                (reply, link) -> ofSlot(slot, decoder.acquire(reply, link.incarnation(), subject.toString())));
    }

    CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        LockName name = ballot.request().name();
        String lock = settings.keys().lock(name);
        String slot = topology.slotTag(lock);
        Requests.Subject subject = new Requests.Subject("downgrade to a", name);
        return acks.acquire(
                subject,
                ballot.request().timeoutNanos(),
                calls.downgrade(lock, slot, ballot, writer, membership),
                (reply, link) -> ofSlot(slot, decoder.acquire(reply, link.incarnation(), subject.toString())));
    }

    CompletableFuture<NodeReply> birth(Birth birth) {
        List<String> slots = topology.slotTags();
        if (slots.isEmpty()) {
            return birth("", birth.nonce(), birth);
        }
        if (birth.nonce().equals(Birth.ANY_LIFE)) {
            return declared(slots, birth);
        }
        int end = birth.nonce().indexOf(SLOT_END);
        return birth(birth.nonce().substring(0, end), birth.nonce().substring(end + 1), birth);
    }

    private CompletableFuture<NodeReply> birth(String slot, String nonce, Birth birth) {
        return requests.run(
                "mark the birth",
                birth.timeoutNanos(),
                new ScriptCall(LuaScript.MEMBER_BIRTH, new String[] {KeyLayout.marker(slot)}, new String[] {
                    nonce, Long.toString(birth.bornMicros()), birth.configuration()
                }),
                (reply, link) -> decoder.birth(reply, link.incarnation()),
                FailedReplies::failed);
    }

    /** Declares every slot of a Cluster, some hundreds at a time. */
    private CompletableFuture<NodeReply> declared(List<String> slots, Birth birth) {
        List<CompletableFuture<NodeReply>> some = slots.stream()
                .limit(SLOTS_AT_ONCE)
                .map(slot -> birth(slot, birth.nonce(), birth))
                .toList();
        List<String> rest = slots.subList(some.size(), slots.size());
        return CompletableFuture.allOf(some.toArray(CompletableFuture<?>[]::new))
                .thenCompose(done -> {
                    for (CompletableFuture<NodeReply> one : some) {
                        if (!(one.join() instanceof NodeReply.Stale)) {
                            return one;
                        }
                    }
                    return rest.isEmpty() ? some.get(0) : declared(rest, birth);
                });
    }

    CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        LockName name = request.names().get(0);
        String lock = settings.keys().lock(name);
        boolean goesOn = request.kind() == ReleaseRequest.Kind.SUPERSEDED;
        if (goesOn) {
            places.supersede(name, request.owner());
        } else {
            places.leave(name, request.owner());
        }
        boolean stays = goesOn || places.isKept(name);
        Requests.Subject subject = new Requests.Subject("release", name);
        CompletableFuture<ReleaseReply> answered = requests.run(
                subject,
                request.timeoutNanos(),
                calls.release(lock, request, wakeUps.channel(lock), stays),
                (reply, link) -> name.isRead() ? ofReaders.release(reply, subject) : decoder.release(reply),
                FailedReplies::releaseFailed);
        // An attempt of this client may begin in the meantime, and its request run before this script, which then also
        // removes the place of that attempt: if two threads send the two, if the server does not know the script, or if
        // the script runs after the common case.
        boolean mayHaveEndedLaterPlaces = !stays;
        return answered.thenApply(reply -> {
            // A member does not wake the client that sends the release with its own kind, even if that client is the
            // first,
            // or one of the first readers.
            boolean isFreed = reply instanceof ReleaseReply.Released freed && (!freed.awaited() || name.isRead());
            if (!goesOn && (mayHaveEndedLaterPlaces || isFreed) && places.isKept(name)) {
                wake.accept(name);
            }
            return reply;
        });
    }
}
