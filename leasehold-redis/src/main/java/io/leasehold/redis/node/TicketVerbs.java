package io.leasehold.redis.node;

import io.leasehold.LockStoreException;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import java.util.concurrent.CompletableFuture;

/** The verbs for tickets, at a deployment that is a store of its own: each is one script on the lock and its fence. */
final class TicketVerbs {

    private final Requests requests;
    private final WaitAcks acks;
    private final ReplyDecoder decoder;
    private final KeyLayout keys;

    TicketVerbs(Requests requests, WaitAcks acks, ReplyDecoder decoder, KeyLayout keys) {
        this.requests = requests;
        this.acks = acks;
        this.decoder = decoder;
        this.keys = keys;
    }

    private static String[] keysOf(String lock) {
        return new String[] {lock, KeyLayout.fence(lock)};
    }

    CompletableFuture<ExportReply> export(ExportRequest request) {
        Requests.Subject subject = new Requests.Subject("export", request.name());
        String[] arguments = {
            request.owner().hex(),
            Long.toString(request.ballot()),
            LockValue.of(request.ticket(), request.token(), request.holderId()),
            Long.toString(NodeSettings.ceilMillis(request.claimNanos()))
        };
        return requests.run(
                subject,
                request.timeoutNanos(),
                new ScriptCall(LuaScript.EXPORT, keysOf(keys.lock(request.name())), arguments),
                (reply, link) -> decoder.export(reply, subject),
                failure -> new ExportReply.Failed(failure.kind(), failure.error()));
    }

    CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        AcquireRequest request = ballot.request();
        String refusal = keys.refusal(request.name());
        if (refusal != null) {
            LockStoreException error = new LockStoreException(refusal, null);
            return CompletableFuture.completedFuture(new NodeReply.Failed(FailureKind.PERMANENT, error));
        }
        Requests.Subject subject = new Requests.Subject("resume", request.name());
        String[] arguments = {
            LockValue.of(request.owner(), ballot.candidate(), request.holderId()),
            Long.toString(NodeSettings.ceilMillis(request.ttlNanos())),
            Long.toString(ballot.candidate()),
            ticket.hex()
        };
        return acks.acquire(
                subject,
                request.timeoutNanos(),
                new ScriptCall(LuaScript.RESUME, keysOf(keys.lock(request.name())), arguments),
                (reply, link) -> decoder.acquire(reply, link.incarnation(), subject));
    }
}
