package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.topology.Subscriptions;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Ballot;
import io.leasehold.spi.Birth;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.Membership;
import io.leasehold.spi.NodeReply;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

/**
 * The verbs of a server that is a member of a set of nodes, as scripts of their own: a server that is a store by itself pays
 * nothing for them. Safe for all threads.
 */
final class MemberVerbs {

    private final Requests requests;
    private final ReplyDecoder decoder;
    private final NodeSettings settings;
    private final Subscriptions subscriptions;
    private final LockRuntime runtime;

    MemberVerbs(
            Requests requests,
            ReplyDecoder decoder,
            NodeSettings settings,
            Subscriptions subscriptions,
            LockRuntime runtime) {
        this.requests = requests;
        this.decoder = decoder;
        this.settings = settings;
        this.subscriptions = subscriptions;
        this.runtime = runtime;
    }

    CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        AcquireRequest request = ballot.request();
        boolean live = request.isWaiting() && subscriptions.isLive();
        CompletableFuture<NodeReply> first = propose(ballot, membership, live, request.timeoutNanos());
        if (!request.isWaiting() || live) {
            return first;
        }
        long startAtNanos = runtime.nanoTime();
        return first.thenCompose(reply -> {
            if (!(reply instanceof NodeReply.Held)) {
                return CompletableFuture.completedFuture(reply);
            }
            // The answer must not wait for a subscription: the quorum would wait with it.
            subscriptions.started();
            long leftNanos = request.timeoutNanos() - (runtime.nanoTime() - startAtNanos);
            return subscriptions.isLive() && leftNanos > 0
                    ? propose(ballot, membership, true, leftNanos)
                    : CompletableFuture.completedFuture(reply);
        });
    }

    private CompletableFuture<NodeReply> propose(
            Ballot ballot, Membership membership, boolean watch, long timeoutNanos) {
        AcquireRequest request = ballot.request();
        LockName name = request.name();
        Requests.Subject subject = new Requests.Subject("acquire", name);
        String[] arguments = {
            LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
            Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
            Long.toString(ballot.candidate()),
            Long.toString(ballot.tokens().last()),
            Long.toString(settings.retentionMicros()),
            Long.toString(membership.boundMicros()),
            Long.toString(watch ? settings.placeMillis(request.recheckNanos()) : 0),
            subscriptions.channel(),
            Long.toString(Math.max(1, membership.estimateMicros())),
            membership.configuration(),
            Long.toString(membership.estimateMicros()),
            Long.toString(membership.quarantineMicros()),
            membership.persistence().name().toLowerCase(Locale.ROOT)
        };
        String lock = settings.keys().lock(name);
        return requests.run(
                subject,
                timeoutNanos,
                LuaScript.MEMBER_ACQUIRE,
                new String[] {lock, KeyLayout.fence(lock), KeyLayout.watchers(lock), KeyLayout.marker()},
                arguments,
                (reply, link) -> decoder.acquire(reply, link.incarnation(), subject.toString()),
                RedisNode::failed);
    }

    CompletableFuture<NodeReply> birth(Birth birth) {
        return requests.run(
                "mark the birth",
                birth.timeoutNanos(),
                LuaScript.MEMBER_BIRTH,
                new String[] {KeyLayout.marker()},
                new String[] {birth.nonce(), Long.toString(birth.bornMicros()), birth.configuration()},
                (reply, link) -> decoder.birth(reply, link.incarnation()),
                RedisNode::failed);
    }

    CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        LockName name = request.names().get(0);
        String lock = settings.keys().lock(name);
        String[] arguments = {
            request.owner().hex(),
            Long.toString(request.ballot()),
            Long.toString(settings.retentionMicros()),
            Long.toString(settings.boundMicros()),
            subscriptions.channel(),
            Long.toString(settings.windowMicros()),
            request.kind() == ReleaseRequest.Kind.SUPERSEDED ? "stay" : "leave"
        };
        return requests.run(
                new Requests.Subject("release", name),
                request.timeoutNanos(),
                LuaScript.MEMBER_RELEASE,
                new String[] {lock, KeyLayout.fence(lock), KeyLayout.watchers(lock)},
                arguments,
                (reply, link) -> decoder.release(reply),
                failure -> new ReleaseReply.Failed(failure.kind(), failure.error()));
    }
}
