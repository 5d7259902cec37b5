package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import io.leasehold.spi.toolkit.Repetition;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Asks the store to put the named successor of a leader before all other waiters. The lock is still held; its release comes
 * after the answer. The request is repeated until it is answered, but not for longer than a store may take for its answer:
 * the lock must be released even if no successor can be named.
 *
 * <p>The store is asked, and the future completes, outside of the guard.
 */
final class SuccessorNaming {

    private static final long FIRST_PAUSE_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 100_000_000L;

    private final EngineContext context;
    private final SuccessorRequest request;
    private final long untilAtNanos;
    private final Repetition repetition = new Repetition(FIRST_PAUSE_NANOS, MAX_PAUSE_NANOS);
    private final CompletableFuture<Boolean> result = new CompletableFuture<>();

    private SuccessorNaming(ActiveLease lease, String candidate) {
        // The lease of a candidate is exclusive, so it has a grant of its own.
        HeldGrant grant = (HeldGrant) lease.owner();
        long answerNanos = grant.settings().timings().answerNanos();
        this.context = grant.context();
        this.request = new SuccessorRequest(grant.name(), grant.owner(), candidate, answerNanos);
        this.untilAtNanos = grant.now() + answerNanos;
    }

    /** Refuses what a store that serves its waiters in their order only cannot do. */
    static void require(LockName name, LockStore store) {
        if (!store.namesSuccessors()) {
            throw new UnsafeStoreException(
                    "cannot hand the election \"" + name + "\" over to a named candidate: at " + store.description()
                            + " a leader cannot name its successor. Resign instead, or use a store where it can: one"
                            + " Redis deployment, or memory:. The candidate still leads.",
                    null);
        }
    }

    /** Returns whether the store has put the candidate first, on any thread; it may fail instead. */
    static CompletableFuture<Boolean> begin(ActiveLease lease, String candidate) {
        SuccessorNaming naming = new SuccessorNaming(lease, candidate);
        naming.ask();
        return naming.result;
    }

    private void ask() {
        synchronized (this) {
            if (!repetition.start()) {
                return;
            }
        }
        try {
            Futures.ask(() -> context.store().nameSuccessor(request)).whenComplete((reply, error) -> answered(reply));
        } catch (RuntimeException | Error e) {
            answered(null);
        }
    }

    /** Processes an answer; null if the store has thrown, or returned no future. */
    private void answered(@Nullable SuccessorReply reply) {
        try {
            boolean isFinal = reply != null
                    && !(reply instanceof SuccessorReply.Failed failed && failed.kind() != FailureKind.PERMANENT);
            OptionalLong pause = isFinal ? OptionalLong.empty() : failed();
            if (pause.isPresent()) {
                context.timeline().schedule(pause.getAsLong(), this::ask);
            } else {
                result.complete(reply instanceof SuccessorReply.First);
            }
        } catch (RuntimeException | Error e) {
            // Without an answer, the lock would not be released.
            result.completeExceptionally(e);
        }
    }

    private synchronized OptionalLong failed() {
        return repetition.failed(untilAtNanos - context.runtime().nanoTime());
    }
}
