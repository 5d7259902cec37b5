package io.leasehold.quorum;

import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.toolkit.Repetition;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The release of one owner token at all nodes. It is sent to all at once and repeated for each node until the node has
 * answered or the ttl has passed.
 *
 * <p>The outcome is "released" if a quorum has deleted the token. It is "not ours" if enough nodes answered their first
 * copy with that, so that no quorum held it. State is guarded by {@code this}; requests are sent and futures completed
 * outside of it.
 */
final class NodeRelease {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long FIRST_PAUSE_NANOS = 50_000_000L;
    private static final long MAX_PAUSE_NANOS = 1_000_000_000L;

    private final NodeSet nodes;
    private final ReleaseRequest request;
    private final long untilAtNanos;
    private final @Nullable ReleaseReply[] replies;
    /** Whether an earlier copy went unanswered, so that the answer "not ours" proves nothing. */
    private final boolean[] doubtful;

    private final Repetition[] copies;
    private final LockRuntime.@Nullable Timer[] timers;
    private final CompletableFuture<Void> decided = new CompletableFuture<>();
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private boolean told;

    NodeRelease(NodeSet nodes, ReleaseRequest request, long forNanos) {
        this.nodes = nodes;
        this.request = request;
        this.untilAtNanos = nodes.runtime().nanoTime() + forNanos;
        int n = nodes.size();
        this.replies = new ReleaseReply[n];
        this.doubtful = new boolean[n];
        this.copies = new Repetition[n];
        Arrays.setAll(copies, node -> new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS));
        this.timers = new LockRuntime.Timer[n];
    }

    /** Whether this release keeps the waiter's place and the other kind does not. */
    boolean keepsPlaceUnlike(ReleaseRequest.Kind other) {
        return request.kind() == ReleaseRequest.Kind.SUPERSEDED && other != ReleaseRequest.Kind.SUPERSEDED;
    }

    long ballot() {
        return request.ballot();
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
        }
        nodes.link(node)
                .ask(target -> target.release(request), ReleaseReply.Failed::new)
                .thenAccept(reply -> answered(node, reply));
    }

    private void answered(int node, ReleaseReply reply) {
        boolean isDecided;
        boolean isOver;
        synchronized (this) {
            replies[node] = reply;
            if (reply instanceof ReleaseReply.Failed failed && failed.kind() != FailureKind.PERMANENT) {
                doubtful[node] |= failed.kind() == FailureKind.UNKNOWN;
                if (!sendAgain(node)) {
                    // The hold has expired or will expire.
                    replies[node] = new ReleaseReply.Failed(FailureKind.PERMANENT, failed.error());
                }
            } else {
                copies[node].end();
            }
            isOver = isOver();
            isDecided = isOver || isDecided();
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
                    "the release of {} cannot be repeated at {}",
                    request.names(),
                    nodes.names().get(node),
                    e);
            copies[node].end();
            return false;
        }
    }

    /** Sends pending copies at once, after a node has become reachable again. */
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

    private boolean isOver() {
        for (ReleaseReply reply : replies) {
            if (reply == null
                    || (reply instanceof ReleaseReply.Failed failed && failed.kind() != FailureKind.PERMANENT)) {
                return false;
            }
        }
        return true;
    }

    private boolean isReleased() {
        int released = 0;
        for (ReleaseReply reply : replies) {
            released += reply instanceof ReleaseReply.Released ? 1 : 0;
        }
        return released >= nodes.quorum();
    }

    private boolean isDecided() {
        int notOurs = 0;
        for (int node = 0; node < replies.length; node++) {
            notOurs += replies[node] instanceof ReleaseReply.NotOurs && !doubtful[node] ? 1 : 0;
        }
        return isReleased() || nodes.size() - notOurs < nodes.quorum();
    }

    private @Nullable ReleaseReply verdict() {
        if (!isDecided()) {
            return null;
        }
        return isReleased() ? new ReleaseReply.Released(votes(), isAwaited()) : new ReleaseReply.NotOurs(votes());
    }

    /** Whether another client waited at a node that has released the lock. */
    private boolean isAwaited() {
        for (ReleaseReply reply : replies) {
            if (reply instanceof ReleaseReply.Released one && one.awaited()) {
                return true;
            }
        }
        return false;
    }

    /** Completes with the outcome once it is decided, or with the best known outcome when this time has passed. */
    CompletableFuture<ReleaseReply> reply(long timeoutNanos) {
        CompletableFuture<Void> waited = decided.copy();
        LockRuntime.Timer patience = nodes.runtime().schedule(timeoutNanos, () -> waited.complete(null));
        // This runs once for each reply, even if both happen at the same moment: the first caller learns that it was
        // released.
        return waited.thenApply(done -> {
            patience.cancel();
            return known();
        });
    }

    private synchronized ReleaseReply known() {
        ReleaseReply verdict = verdict();
        if (verdict instanceof ReleaseReply.Released) {
            // A caller that repeats the release learns that nothing was left.
            boolean first = !told;
            told = true;
            return first ? verdict : new ReleaseReply.NotOurs(votes());
        } else if (verdict != null) {
            return verdict;
        }
        List<NodeVote> votes = votes();
        return new ReleaseReply.Failed(
                isOver() ? FailureKind.PERMANENT : FailureKind.UNKNOWN,
                new StoreUnavailableException(
                        "the release of " + request.names() + " was not confirmed by " + nodes.quorum() + " of "
                                + nodes.size() + " nodes; " + Votes.line(votes),
                        votes,
                        null));
    }

    private List<NodeVote> votes() {
        return Votes.of(nodes.names(), replies, Votes::of);
    }

    /** Completes when every node has answered or was given up. */
    CompletableFuture<Void> over() {
        return over;
    }

    /** Whether a node was given up, so that the caller may repeat the release. */
    synchronized boolean isGivenUpAtANode() {
        for (ReleaseReply reply : replies) {
            if (reply instanceof ReleaseReply.Failed failed && failed.kind() == FailureKind.PERMANENT) {
                return true;
            }
        }
        return false;
    }

    /** Whether a node that has not failed yet may still answer the first copy. */
    synchronized boolean isFresh() {
        return Arrays.asList(replies).contains(null);
    }

    void close() {
        synchronized (this) {
            for (Repetition copy : copies) {
                copy.end();
            }
            for (LockRuntime.Timer timer : timers) {
                if (timer != null) {
                    timer.cancel();
                }
            }
        }
        decided.complete(null);
        over.complete(null);
    }
}
