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
 * Runs acquires and resumes that count only after enough replicas have acknowledged them ({@code WAIT}), if the
 * settings require that.
 *
 * <p>A grant without the acknowledgement does not count: its owner token is spent, so that the grant is undone and the
 * token never used again. A resume without the acknowledgement is not undone: it is repeated with the same owner token,
 * which has the lock at the primary, and its outcome is unknown until a repetition is acknowledged.
 *
 * <p>The acknowledgement does not make a fail-over safe, for three reasons. The promoted replica need not be one that
 * acknowledged. A replica may lose the write in a restart. The former primary may grant locks while it is cut off, and
 * no replica that will be promoted acknowledges them.
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

    /** Runs a script that acquires or resumes. */
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
            // The vote is not counted and is undone with its round.
            Failure failure = new Failure(
                    FailureKind.UNKNOWN, errors.unavailable("cannot " + subject + ": only " + reason, null));
            return FailedReplies.failed(failure);
        }
        return new NodeReply.Refused("only " + reason, RETRY_NANOS, yes.incarnation(), yes.serverMicros(), true);
    }
}
