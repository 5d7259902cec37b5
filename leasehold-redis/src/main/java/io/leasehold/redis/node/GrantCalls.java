package io.leasehold.redis.node;

import io.leasehold.node.Ballot;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The script calls for a lock at a server that is a store of its own. */
final class GrantCalls {

    private GrantCalls() {}

    /**
     * A requested place in the queue.
     *
     * @param millis how long the place is kept without a new request
     * @param channel the channel on which the waiter listens
     */
    record Place(long millis, String channel) {}

    /**
     * Proposes a ballot. A request for one token may use the common case of a free lock, jointly with other calls.
     *
     * @param life how the script knows the run id of its server
     */
    static ScriptCall acquire(String lock, Ballot ballot, @Nullable Place place, LifeCheck life) {
        AcquireRequest request = ballot.request();
        String value = LockValue.of(request.owner(), ballot.candidate(), request.holderId());
        String ttl = Long.toString(NodeSettings.ceilMillis(request.ttlNanos()));
        String candidate = Long.toString(ballot.candidate());
        boolean single = ballot.reserve() == 1;
        String[] few = {value, ttl, candidate};
        String[] arguments = few;
        if (place != null) {
            arguments = new String[] {
                value,
                ttl,
                candidate,
                last(ballot),
                Long.toString(place.millis()),
                place.channel(),
                Long.toString(NodeSettings.ceilMillis(ballot.claimNanos()))
            };
        } else if (!single) {
            arguments = new String[] {value, ttl, candidate, last(ballot)};
        }
        ScriptCall.CommonCase common = single
                ? new ScriptCall.CommonCase(
                        LuaScript.ACQUIRE_FREE, LuaScript.ACQUIRE_MANY, KeyLayout.grantKeys(lock), few)
                : null;
        return ScriptCall.ofLock(LuaScript.ACQUIRE, lock, arguments, place == null ? null : life, common);
    }

    /** Proposes a ballot for a reader. */
    static ScriptCall acquireAsReader(String lock, Ballot ballot, @Nullable Place place, LifeCheck life) {
        List<String> arguments = new ArrayList<>(proposal(ballot));
        if (place != null) {
            arguments.add(Long.toString(place.millis()));
            arguments.add(place.channel());
            arguments.add(Long.toString(NodeSettings.ceilMillis(ballot.claimNanos())));
        }
        return ScriptCall.ofLock(
                LuaScript.READ_ACQUIRE, lock, arguments.toArray(String[]::new), place == null ? null : life, null);
    }

    /** Proposes a ballot for a reader that takes the place of a writer. */
    static ScriptCall downgrade(String lock, Ballot ballot, OwnerToken writer, LifeCheck life) {
        List<String> arguments = new ArrayList<>(proposal(ballot));
        arguments.add(writer.hex());
        return ScriptCall.ofLock(LuaScript.READ_DOWNGRADE, lock, arguments.toArray(String[]::new), life, null);
    }

    private static List<String> proposal(Ballot ballot) {
        AcquireRequest request = ballot.request();
        return List.of(
                LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
                Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
                Long.toString(ballot.candidate()),
                last(ballot));
    }

    private static String last(Ballot ballot) {
        return Long.toString(ballot.tokens().last());
    }

    /**
     * Ends the hold of an owner token. A release by a holder may use the common case of a lock without waiters, jointly
     * with other calls.
     *
     * @param life how the script knows the run id of its server
     */
    static ScriptCall release(String lock, ReleaseRequest request, LifeCheck life) {
        String[] arguments = {request.owner().hex(), Long.toString(request.ballot())};
        ScriptCall.CommonCase common = request.kind() == ReleaseRequest.Kind.RELEASE
                ? new ScriptCall.CommonCase(
                        LuaScript.RELEASE_HELD,
                        LuaScript.RELEASE_MANY,
                        new String[] {lock, KeyLayout.queued(lock)},
                        new String[] {LockValue.beginning(request.owner(), request.ballot())})
                : null;
        return ScriptCall.ofLock(LuaScript.RELEASE, lock, arguments, life, common);
    }
}
