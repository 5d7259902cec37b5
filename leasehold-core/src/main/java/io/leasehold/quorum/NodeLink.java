package io.leasehold.quorum;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The connection to one node: failures are replies, and the number of unanswered requests is bounded. Safe for all threads.
 */
final class NodeLink {

    /** The number of unanswered requests above which further ones fail at once. */
    static final int MAX_UNANSWERED = 1_024;

    private final LockNode node;
    private final String name;
    private final AtomicInteger unanswered = new AtomicInteger();

    NodeLink(LockNode node, String name) {
        this.node = node;
        this.name = name;
    }

    LockNode node() {
        return node;
    }

    /** Sends a request; the answer never completes exceptionally. */
    <R> CompletableFuture<R> ask(
            Function<LockNode, CompletableFuture<R>> request, BiFunction<FailureKind, LockStoreException, R> failed) {
        if (unanswered.incrementAndGet() > MAX_UNANSWERED) {
            unanswered.decrementAndGet();
            return CompletableFuture.completedFuture(failed.apply(
                    FailureKind.NO_EFFECT,
                    new StoreUnavailableException(
                            name + " has " + MAX_UNANSWERED + " unanswered requests; nothing more is sent until it"
                                    + " answers",
                            null)));
        }
        return TimeLimit.start(() -> request.apply(node)).handle((reply, error) -> {
            unanswered.decrementAndGet();
            return error == null ? reply : failed.apply(FailureKind.UNKNOWN, broken(error));
        });
    }

    private LockStoreException broken(Throwable error) {
        Throwable cause = Failure.unwrapped(error);
        return cause instanceof LockStoreException known
                ? known
                : new StoreUnavailableException("a request to " + name + " failed: " + cause, cause);
    }
}
