package io.leasehold.quorum;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.TimeLimit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The connection to one node: failures are replies, and the number of unanswered requests is bounded. It records the
 * time since when the node owes an answer. Safe for all threads.
 */
final class NodeLink {

    /** The number of unanswered requests above which further ones fail at once. */
    static final int MAX_UNANSWERED = 1_024;

    /**
     * The pause of this client's requests after which an answer that the node owes no longer counts as silence of the
     * node.
     */
    private static final long FORGOTTEN_NANOS = 10_000_000_000L;

    private final LockNode node;
    private final String name;
    private final AtomicInteger unanswered = new AtomicInteger();
    private final AtomicLong askedAtNanos = new AtomicLong();
    /** The time of the first request since the last answer of the node; zero if the node owes no answer. */
    private final AtomicLong owedSinceNanos = new AtomicLong();

    NodeLink(LockNode node, String name) {
        this.node = node;
        this.name = name;
    }

    LockNode node() {
        return node;
    }

    /** Notes that a request is about to be sent. */
    void asks(long nowNanos) {
        long unaskedNanos = nowNanos - askedAtNanos.getAndSet(nowNanos);
        // Zero means that the node owes no answer.
        if (!owedSinceNanos.compareAndSet(0, nowNanos | 1) && unaskedNanos > FORGOTTEN_NANOS) {
            owedSinceNanos.set(nowNanos | 1);
        }
    }

    /** Notes that the node owes no answer: it has answered, or nothing was sent to it. */
    void heard() {
        owedSinceNanos.set(0);
    }

    /** The time for which the node has owed an answer. */
    long silentNanos(long nowNanos) {
        long sinceNanos = owedSinceNanos.get();
        return sinceNanos == 0 ? 0 : nowNanos - sinceNanos;
    }

    /** Sends a request; the answer never completes exceptionally. */
    <R> CompletableFuture<R> ask(
            Function<LockNode, CompletableFuture<R>> request, BiFunction<FailureKind, LockStoreException, R> failed) {
        if (unanswered.incrementAndGet() > MAX_UNANSWERED) {
            unanswered.decrementAndGet();
            return CompletableFuture.completedFuture(failed.apply(
                    FailureKind.NO_EFFECT,
                    new StoreUnavailableException(
                            name + " has " + MAX_UNANSWERED
                                    + " unanswered requests; no further request is sent until it" + " answers",
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
