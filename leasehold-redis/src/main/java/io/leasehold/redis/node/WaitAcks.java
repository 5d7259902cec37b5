package io.leasehold.redis.node;

import io.leasehold.node.NodeReply;
import io.leasehold.redis.topology.Acknowledged;
import io.leasehold.redis.topology.Acknowledgement;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Acquires that count only when so many replicas have acknowledged them ({@code WAIT}), if that is wanted.
 *
 * <p>What was granted and not acknowledged is no grant: its owner token is spent, so that it is undone and never used again. This does
 * not make a fail-over safe: the replica that acknowledged need not be the one that is promoted, a replica may lose it again in
 * a restart, and what the former primary grants while it is cut off is acknowledged by nobody who matters.
 */
final class WaitAcks {

    private static final long RETRY_NANOS = 50_000_000L;

    private final Requests requests;
    private final RedisErrors errors;
    private final NodeSettings settings;

    WaitAcks(Requests requests, RedisErrors errors, NodeSettings settings) {
        this.requests = requests;
        this.errors = errors;
        this.settings = settings;
    }

    /** Runs an acquire script. */
    CompletableFuture<NodeReply> acquire(
            Object subject, long timeoutNanos, ScriptCall call, Requests.Decoder<List<Object>, NodeReply> decoder) {
        if (!settings.acknowledgement().isWanted()) {
            return requests.run(subject, timeoutNanos, call, decoder, FailedReplies::failed);
        }
        return requests.runAcknowledged(
                subject,
                timeoutNanos,
                call,
                (Acknowledged answer, Link link) -> judged(decoder.decode(answer.reply(), link), answer, subject),
                FailedReplies::failed);
    }

    NodeReply judged(NodeReply reply, Acknowledged answer, Object subject) {
        Acknowledgement wanted = settings.acknowledgement();
        if (!(reply instanceof NodeReply.Yes yes) || answer.replicas() >= wanted.replicas()) {
            return reply;
        }
        String reason = answer.replicas() + " of " + wanted.replicas() + " replicas acknowledged it within "
                + wanted.timeoutMillis() + " ms (waitReplicas, waitTimeout)";
        if (settings.member()) {
            // A vote that is not counted, and is undone with its round.
            Failure failure = new Failure(
                    FailureKind.UNKNOWN, errors.unavailable("cannot " + subject + ": only " + reason, null));
            return FailedReplies.failed(failure);
        }
        return new NodeReply.Refused("only " + reason, RETRY_NANOS, yes.incarnation(), yes.serverMicros(), true);
    }
}
