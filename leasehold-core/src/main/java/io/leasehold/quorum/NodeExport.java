package io.leasehold.quorum;

import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Repetition;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of one owner token at all nodes, with a ticket in its place. It is sent to all at once and repeated for each node
 * until the node has answered or the hold has expired there: a node without the ticket is one vote less for the claimant.
 *
 * <p>State is guarded by {@code this}; requests are sent and futures completed outside of it.
 */
final class NodeExport {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long FIRST_PAUSE_NANOS = 20_000_000L;
    private static final long MAX_PAUSE_NANOS = 1_000_000_000L;

    private final NodeSet nodes;
    private final ExportRequest request;
    private final long untilAtNanos;
    private final ExportTally tally;
    private final Repetition[] copies;
    private final LockRuntime.@Nullable Timer[] timers;
    private final CompletableFuture<Void> decided = new CompletableFuture<>();
    private final CompletableFuture<Void> over = new CompletableFuture<>();

    /**
     * Creates an export that has not begun.
     *
     * @param request the request for each node, with the time limit of a node's answer
     * @param forNanos the time for which a node may know the owner token
     */
    NodeExport(NodeSet nodes, ExportRequest request, long forNanos) {
        this.nodes = nodes;
        this.request = request;
        this.untilAtNanos = nodes.runtime().nanoTime() + forNanos;
        this.tally = new ExportTally(nodes.size(), request.claimNanos());
        this.copies = new Repetition[nodes.size()];
        Arrays.setAll(copies, node -> new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS));
        this.timers = new LockRuntime.Timer[nodes.size()];
    }

    void begin() {
        for (int node = 0; node < nodes.size(); node++) {
            send(node);
        }
    }

    private void send(int node) {
        synchronized (this) {
            if (!copies[node].start()) {
                return;
            }
            tally.sending(node, nodes.runtime().nanoTime());
        }
        nodes.export(node, request).thenAccept(reply -> answered(node, reply));
    }

    private void answered(int node, ExportReply reply) {
        boolean isOver;
        boolean isDecided;
        synchronized (this) {
            if (!tally.answered(node, reply)) {
                copies[node].end();
            } else if (!sendAgain(node)) {
                tally.over(node);
            }
            isOver = tally.isOver();
            isDecided = isOver || tally.verdict(nodes.runtime().nanoTime()).isPresent();
        }
        if (isDecided) {
            decided.complete(null);
        }
        if (isOver) {
            over.complete(null);
        }
    }

    /** Schedules the next copy; false if none follows. */
    private boolean sendAgain(int node) {
        OptionalLong pause = copies[node].failed(untilAtNanos - nodes.runtime().nanoTime());
        if (pause.isEmpty()) {
            return false;
        }
        try {
            timers[node] = nodes.runtime().schedule(pause.getAsLong(), () -> send(node));
            return true;
        } catch (Error e) {
            LOG.error(
                    "the export of {} cannot be repeated at {}",
                    request.name(),
                    nodes.names().get(node),
                    e);
            copies[node].end();
            return false;
        }
    }

    /** Sends pending copies at once. */
    void hurry() {
        for (int node = 0; node < nodes.size(); node++) {
            LockRuntime.Timer timer;
            synchronized (this) {
                timer = timers[node];
                timers[node] = null;
            }
            if (timer != null) {
                timer.cancel();
                send(node);
            }
        }
    }

    /** Completes with the outcome once it is decided, or with a failure when this time has passed. */
    CompletableFuture<ExportReply> reply(long timeoutNanos) {
        CompletableFuture<Void> waited = decided.copy();
        LockRuntime.Timer patience = nodes.runtime().schedule(timeoutNanos, () -> waited.complete(null));
        return waited.thenApply(done -> {
            patience.cancel();
            return known();
        });
    }

    private synchronized ExportReply known() {
        ExportTally.Verdict verdict = tally.verdict(nodes.runtime().nanoTime()).orElse(null);
        if (verdict == ExportTally.Verdict.KEPT) {
            return new ExportReply.Exported();
        } else if (verdict == ExportTally.Verdict.LOST) {
            return new ExportReply.NotOurs();
        }
        FailureKind kind = tally.mayHaveExported() ? FailureKind.UNKNOWN : FailureKind.NO_EFFECT;
        List<NodeVote> votes = Votes.of(nodes.names(), tally.replies(), Votes::of);
        return new ExportReply.Failed(
                verdict == ExportTally.Verdict.UNCONFIRMED || over.isDone() ? FailureKind.PERMANENT : kind,
                new StoreUnavailableException(
                        "the export of " + request.name() + " was not confirmed by " + nodes.quorum() + " of "
                                + nodes.size() + " nodes; " + Votes.line(votes),
                        votes,
                        null));
    }

    /** Completes when every node has answered or was given up. */
    CompletableFuture<Void> over() {
        return over;
    }

    /** Whether a node was given up, so that the caller may repeat the export, or release the lock. */
    synchronized boolean isGivenUpAtANode() {
        return tally.isGivenUpAtANode();
    }

    /** Ends the repetitions: no copy is sent from now on. */
    void close() {
        synchronized (this) {
            for (int node = 0; node < nodes.size(); node++) {
                copies[node].end();
                tally.over(node);
                LockRuntime.Timer timer = timers[node];
                if (timer != null) {
                    timer.cancel();
                }
            }
        }
        decided.complete(null);
        over.complete(null);
    }
}
