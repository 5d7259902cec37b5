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

/** The owner tokens that are being ended, each once. Guarded by itself. */
final class Endings {

    private static final long ANSWER_NANOS = 3_000_000_000L;

    private final NodeSet nodes;
    /** In the order of their beginning, so that a replayed world repeats them in the same order. */
    private final Map<OwnerToken, Ending> underWay = new LinkedHashMap<>();

    private boolean closed;

    Endings(NodeSet nodes) {
        this.nodes = nodes;
    }

    /** Ends an owner token at all nodes, unless that is under way. */
    Ending end(List<LockName> names, OwnerToken owner, long ballot, ReleaseRequest.Kind kind, long ttlNanos) {
        Ending ending;
        synchronized (this) {
            Ending known = underWay.get(owner);
            if (known != null) {
                return known;
            }
            long answerNanos = Math.min(ANSWER_NANOS, Math.max(50_000_000L, ttlNanos / 10));
            ending = new Ending(
                    nodes,
                    new ReleaseRequest(names, owner, ballot, kind, answerNanos),
                    ttlNanos + ttlNanos / 100 + 2_000_000L);
            if (!closed) {
                underWay.put(owner, ending);
            }
        }
        ending.onOver(() -> {
            synchronized (this) {
                underWay.remove(owner, ending);
            }
        });
        if (isClosed()) {
            ending.close();
        } else {
            ending.begin();
        }
        return ending;
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    synchronized boolean isUnderWay(OwnerToken owner) {
        return underWay.containsKey(owner);
    }

    private synchronized List<Ending> all() {
        return new ArrayList<>(underWay.values());
    }

    void hurry() {
        all().forEach(Ending::hurry);
    }

    /** Waits for the nodes that answer at once, so that nothing that could be freed stays behind; then repeats nothing. */
    void close(long patienceNanos) {
        LockRuntime runtime = nodes.runtime();
        List<CompletableFuture<Void>> fresh =
                all().stream().filter(Ending::isFresh).map(Ending::over).toList();
        if (!fresh.isEmpty()) {
            CompletableFuture<Void> done = CompletableFuture.allOf(fresh.toArray(CompletableFuture<?>[]::new));
            CompletableFuture<Void> limited = done.copy();
            LockRuntime.Timer patience = runtime.schedule(patienceNanos, () -> limited.complete(null));
            try {
                runtime.await(limited);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                patience.cancel();
            }
        }
        synchronized (this) {
            closed = true;
        }
        all().forEach(Ending::close);
    }
}
