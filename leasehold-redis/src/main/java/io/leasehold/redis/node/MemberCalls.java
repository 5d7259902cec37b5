package io.leasehold.redis.node;

import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;

/** The script calls for a lock at a server that is a member of a set. */
final class MemberCalls {

    private final NodeSettings settings;

    MemberCalls(NodeSettings settings) {
        this.settings = settings;
    }

    /**
     * The wish to be woken.
     *
     * @param millis how long it is kept without a new request; zero if the caller does not wait
     * @param channel the channel on which the caller listens
     */
    record Watch(long millis, String channel) {}

    /**
     * Proposes a ballot, of a writer or a reader. The first request of a writer for one token may use the common case of a
     * free lock, jointly with other calls.
     *
     * @param slot the tag of the slot that has a marker of its own, or empty
     * @param again whether an earlier request of the attempt may be watched already: only the whole script ends that
     */
    ScriptCall acquire(String lock, String slot, Ballot ballot, Membership membership, Watch watch, boolean again) {
        AcquireRequest request = ballot.request();
        String value = LockValue.of(request.owner(), ballot.candidate(), request.holderId());
        String ttl = Long.toString(NodeSettings.ceilMillis(request.ttlNanos()));
        String candidate = Long.toString(ballot.candidate());
        String bound = Long.toString(membership.boundMicros());
        String fence = KeyLayout.fence(lock);
        String marker = KeyLayout.marker(slot);
        String[] arguments = {
            value,
            ttl,
            candidate,
            Long.toString(ballot.tokens().last()),
            Long.toString(settings.retentionMicros()),
            bound,
            Long.toString(watch.millis()),
            watch.channel(),
            Long.toString(order(ballot, membership)),
            membership.configuration(),
            Long.toString(membership.estimateMicros()),
            Long.toString(membership.quarantineMicros())
        };
        String readersWait = KeyLayout.readersWait(lock);
        String[] keys = {
            lock,
            fence,
            KeyLayout.watchers(lock),
            marker,
            KeyLayout.readWatchers(lock),
            KeyLayout.readers(lock),
            readersWait
        };
        boolean reads = request.name().isRead();
        LuaScript script = reads ? LuaScript.MEMBER_READ_ACQUIRE : LuaScript.MEMBER_ACQUIRE;
        ScriptCall call = new ScriptCall(script, keys, arguments).checking(life(membership));
        if (reads || again || ballot.reserve() != 1) {
            return call;
        }
        String latestBirth = Long.toString(membership.estimateMicros() - membership.quarantineMicros());
        return call.orCommonly(new ScriptCall.CommonCase(
                LuaScript.MEMBER_ACQUIRE_MANY,
                LuaScript.MEMBER_ACQUIRE_MANY,
                new ScriptCall.Head(new String[] {marker}, new String[] {membership.configuration(), bound}),
                new String[] {lock, fence, readersWait},
                new String[] {value, ttl, candidate, latestBirth},
                watch.millis() == 0));
    }

    /** The place of the caller. A waiter that has none comes at the time of its request. */
    private static long order(Ballot ballot, Membership membership) {
        return ballot.request().isWaiting() && ballot.place() == 0
                ? Math.max(Ballot.HOLDERS + 1, membership.estimateMicros())
                : ballot.place();
    }

    /** Proposes a ballot for an exported lease. */
    ScriptCall resume(
            String lock, String slot, Ballot ballot, OwnerToken ticket, LockNode.Resume step, Membership membership) {
        AcquireRequest request = ballot.request();
        boolean isVote = step == LockNode.Resume.VOTE;
        String[] arguments = {
            LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
            isVote ? "0" : Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
            Long.toString(ballot.candidate()),
            ticket.hex(),
            Long.toString(settings.retentionMicros()),
            Long.toString(membership.boundMicros()),
            membership.configuration(),
            Long.toString(membership.estimateMicros()),
            Long.toString(membership.quarantineMicros())
        };
        String[] keys = {lock, KeyLayout.fence(lock), KeyLayout.marker(slot)};
        return new ScriptCall(LuaScript.MEMBER_RESUME, keys, arguments).checking(life(membership));
    }

    /** Proposes a ballot for a reader that takes the place of a writer. */
    ScriptCall downgrade(String lock, String slot, Ballot ballot, OwnerToken writer, Membership membership) {
        AcquireRequest request = ballot.request();
        String[] arguments = {
            LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
            Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
            Long.toString(ballot.candidate()),
            Long.toString(ballot.tokens().last()),
            writer.hex(),
            Long.toString(settings.retentionMicros()),
            Long.toString(membership.boundMicros()),
            membership.configuration(),
            Long.toString(membership.estimateMicros()),
            Long.toString(membership.quarantineMicros())
        };
        String[] keys = {lock, KeyLayout.fence(lock), KeyLayout.marker(slot), KeyLayout.readers(lock)};
        return new ScriptCall(LuaScript.MEMBER_READ_DOWNGRADE, keys, arguments).checking(life(membership));
    }

    private LifeCheck life(Membership membership) {
        return membership.persistence() == Membership.Persistence.DURABLE ? LifeCheck.DURABLE : settings.lifeCheck();
    }

    /**
     * Ends the hold of an owner token. A release by a writer may use the common case of a lock without watching clients,
     * jointly with other calls.
     *
     * @param channel the channel of the caller
     * @param stays whether the caller is still to be woken
     */
    ScriptCall release(String lock, ReleaseRequest request, String channel, boolean stays) {
        String watchers = KeyLayout.watchers(lock);
        String[] arguments = {
            request.owner().hex(),
            Long.toString(request.ballot()),
            Long.toString(settings.retentionMicros()),
            Long.toString(settings.boundMicros()),
            channel,
            Long.toString(settings.windowMicros()),
            stays ? "stay" : "leave"
        };
        String readWatchers = KeyLayout.readWatchers(lock);
        String[] keys = {
            lock, KeyLayout.fence(lock), watchers, readWatchers, KeyLayout.readers(lock), KeyLayout.readersWait(lock)
        };
        if (request.names().get(0).isRead()) {
            return new ScriptCall(LuaScript.MEMBER_READ_RELEASE, keys, arguments);
        }
        ScriptCall call = new ScriptCall(LuaScript.MEMBER_RELEASE, keys, arguments);
        return request.kind() == ReleaseRequest.Kind.RELEASE
                ? call.orCommonly(new ScriptCall.CommonCase(
                        LuaScript.MEMBER_RELEASE_MANY,
                        LuaScript.MEMBER_RELEASE_MANY,
                        new String[] {lock, watchers, readWatchers},
                        new String[] {LockValue.beginning(request.owner(), request.ballot())}))
                : call;
    }
}
