package io.leasehold.quorum;

import io.leasehold.LockName;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The releases in progress, one for each owner token. Guarded by {@code this}. */
final class NodeReleases {

    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final NodeSet nodes;
    /** The releases in the order of their start, so that a replayed simulation repeats them in the same order. */
    private final Map<OwnerToken, NodeRelease> underWay = new LinkedHashMap<>();

    private boolean closed;

    NodeReleases(NodeSet nodes) {
        this.nodes = nodes;
    }

    /**
     * Ends an owner token at all nodes, unless a release is already in progress. A release that keeps the waiter's
     * place does not cover one that gives it up. The latter replaces the former and is sent to all nodes, even to those
     * that have answered the former.
     */
    NodeRelease end(List<LockName> names, OwnerToken owner, long ballot, ReleaseRequest.Kind kind, long ttlNanos) {
        NodeRelease release;
        NodeRelease known;
        boolean begins;
        synchronized (this) {
            known = underWay.get(owner);
            if (known != null && !known.keepsPlaceUnlike(kind)) {
                return known;
            }
            long highest = known == null ? ballot : Math.max(ballot, known.ballot());
            long answerNanos = Math.min(ANSWER_NANOS, Math.max(50_000_000L, ttlNanos / 10));
            release = new NodeRelease(
                    nodes,
                    new ReleaseRequest(names, owner, highest, kind, answerNanos),
                    ttlNanos + QuorumSettings.driftNanos(ttlNanos));
            begins = !closed;
            if (begins) {
                underWay.put(owner, release);
            }
        }
        release.over().thenRun(() -> {
            synchronized (this) {
                underWay.remove(owner, release);
            }
        });
        if (known != null) {
            known.close();
        }
        if (begins) {
            release.begin();
        } else {
            release.close();
        }
        return release;
    }

    /**
     * Whether a release is in progress: a finished one does not count, although its callbacks may run before it is
     * removed.
     */
    synchronized boolean isUnderWay(OwnerToken owner) {
        NodeRelease release = underWay.get(owner);
        return release != null && !release.over().isDone();
    }

    private synchronized List<NodeRelease> all() {
        return new ArrayList<>(underWay.values());
    }

    void hurry() {
        all().forEach(NodeRelease::hurry);
    }

    /** Waits for the nodes that answer promptly, so that their locks are released; then stops the repetitions. */
    void close(long patienceNanos) {
        try {
            awaitFirstAnswers(patienceNanos);
        } finally {
            synchronized (this) {
                closed = true;
            }
            all().forEach(NodeRelease::close);
        }
    }

    private void awaitFirstAnswers(long patienceNanos) {
        List<CompletableFuture<Void>> fresh = all().stream()
                .filter(NodeRelease::isFresh)
                .map(NodeRelease::over)
                .toList();
        if (fresh.isEmpty()) {
            return;
        }
        CompletableFuture<Void> done = CompletableFuture.allOf(fresh.toArray(CompletableFuture<?>[]::new));
        CompletableFuture<Void> limited = done.copy();
        LockRuntime.Timer patience = nodes.runtime().schedule(patienceNanos, () -> limited.complete(null));
        try {
            nodes.runtime().awaitUninterruptibly(limited);
        } finally {
            patience.cancel();
        }
    }
}
