package io.leasehold.redis.node;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReaderReplies;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The readers of locks: each verb is one script over the lock, its queue and its readers. A member of a set has other scripts to
 * acquire, downgrade and release ({@link MemberVerbs}). Safe for all threads.
 */
final class RedisReaders {

    /** The id that the readers of a lock have together, where one holder is expected. */
    static final String TOGETHER = Holder.READERS;
    /** The most readers in an answer, since a script blocks all other clients. */
    private static final int READERS_AT_ONCE = 1_000;

    private final Requests requests;
    private final WaitAcks acks;
    private final ReplyDecoder decoder;
    private final ReaderReplies replies;
    private final NodeSettings settings;
    private final KeyLayout keys;
    private final RedisAdmin.TellTaken tellTaken;

    /**
     * Creates the readers of a node.
     *
     * @param tellTaken notifies a reader that its hold was removed
     */
    RedisReaders(
            Requests requests,
            WaitAcks acks,
            ReplyDecoder decoder,
            ReaderReplies replies,
            NodeSettings settings,
            RedisAdmin.TellTaken tellTaken) {
        this.requests = requests;
        this.acks = acks;
        this.decoder = decoder;
        this.replies = replies;
        this.settings = settings;
        this.keys = settings.keys();
        this.tellTaken = tellTaken;
    }

    private static Requests.Subject subject(String verb, LockName name) {
        return new Requests.Subject(verb, name.asRead());
    }

    /** Proposes a ballot. */
    CompletableFuture<NodeReply> propose(Ballot ballot, GrantCalls.@Nullable Place place, long timeoutNanos) {
        LockName name = ballot.request().name();
        Requests.Subject what = subject("acquire", name);
        return acks.acquire(
                what,
                timeoutNanos,
                GrantCalls.acquireAsReader(keys.lock(name), ballot, place, settings.lifeCheck()),
                (reply, link) -> decoder.acquire(reply, link.incarnation(), what));
    }

    /** Makes a reader of a writer. */
    CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        AcquireRequest request = ballot.request();
        String refusal = keys.refusal(request.name());
        if (refusal != null) {
            LockStoreException error = new LockStoreException(refusal, null);
            return CompletableFuture.completedFuture(new NodeReply.Failed(FailureKind.PERMANENT, error));
        }
        Requests.Subject what = subject("downgrade to a", request.name());
        return acks.acquire(
                what,
                request.timeoutNanos(),
                GrantCalls.downgrade(keys.lock(request.name()), ballot, writer, settings.lifeCheck()),
                (reply, link) -> decoder.acquire(reply, link.incarnation(), what));
    }

    /** Ends an owner token, and serves the waiters. */
    CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request) {
        String[] arguments = {request.owner().hex(), Long.toString(request.ballot())};
        return release(
                name,
                request,
                ScriptCall.ofLock(LuaScript.READ_RELEASE, keys.lock(name), arguments, settings.lifeCheck(), null));
    }

    /** Ends an owner token with the key of the readers alone, while the keys are at two servers. */
    CompletableFuture<ReleaseReply> releaseKey(LockName name, ReleaseRequest request) {
        String[] arguments = {request.owner().hex(), Long.toString(request.ballot())};
        String[] readers = {KeyLayout.readers(keys.lock(name))};
        return release(name, request, new ScriptCall(LuaScript.READ_RELEASE_KEY, readers, arguments));
    }

    private CompletableFuture<ReleaseReply> release(LockName name, ReleaseRequest request, ScriptCall call) {
        Requests.Subject what = subject("release", name);
        return requests.run(
                what,
                request.timeoutNanos(),
                call,
                (reply, link) -> replies.release(reply, what),
                FailedReplies::releaseFailed);
    }

    /** Lists readers that hold the lock. */
    CompletableFuture<List<Holder>> list(LockName name, int limit) {
        if (limit <= 0 || keys.refusal(name) != null) {
            return CompletableFuture.completedFuture(List.of());
        }
        Requests.Subject what = subject("inspect", name);
        String lock = keys.lock(name);
        return requests.runOrThrow(
                what,
                new ScriptCall(LuaScript.READ_INSPECT, new String[] {lock, KeyLayout.readers(lock)}, new String[] {
                    Integer.toString(Math.min(limit, READERS_AT_ONCE))
                }),
                (reply, link) -> replies.inspect(reply, what));
    }

    /** Removes the readers with this holder id, or all if it is null, and notifies them. Returns whether there was any. */
    CompletableFuture<Boolean> remove(LockName name, @Nullable String holderId) {
        if ((holderId != null && holderId.isEmpty()) || keys.refusal(name) != null) {
            // On the wire an empty holder id means all readers.
            return CompletableFuture.completedFuture(false);
        }
        Requests.Subject what = subject("take away", name);
        return requests.runOrThrow(
                        what,
                        new ScriptCall(LuaScript.READ_FORCE_RELEASE, KeyLayout.allOf(keys.lock(name)), new String[] {
                            holderId == null || holderId.equals(TOGETHER) ? "" : holderId
                        }),
                        (reply, link) -> replies.forceRelease(reply, what))
                .thenCompose(removed -> CompletableFuture.allOf(removed.stream()
                                .flatMap(List::stream)
                                .distinct()
                                .map(holder -> tellTaken.tell(name.asRead(), holder))
                                .toArray(CompletableFuture<?>[]::new))
                        .thenApply(told -> removed.isPresent()));
    }
}
