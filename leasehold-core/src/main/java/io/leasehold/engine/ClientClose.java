package io.leasehold.engine;

import io.leasehold.LossCause;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The close of a client, in steps that continue after a failure. At the end, the store is closed, and no thread waits
 * for an answer.
 */
final class ClientClose {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long CHECK_NANOS = 2_000_000;

    private final EngineContext context;
    private final Attempts attempts;

    ClientClose(EngineContext context, Attempts attempts) {
        this.context = context;
        this.attempts = attempts;
    }

    /** Ends everything; awaited holders have half of the patience to finish their current work. */
    void end(long patienceNanos, Predicate<HoldTable.Held> isAwaited) {
        attempts.withdraw();
        List<HoldTable.Held> held = context.holds().all();
        held.forEach(grant -> Futures.guarded("telling a holder of the close", () -> tell(grant)));
        Futures.guarded(
                "the wait for holders", () -> await(() -> held.stream().noneMatch(isAwaited), patienceNanos / 2));
        held.forEach(grant -> Futures.guarded("ending a lease at the close", grant::endAtClose));
        Futures.guarded("the wait for the last answers", () -> await(this::isQuiet, patienceNanos / 2));
        Futures.guarded("the end of unanswered exports", context.retrier()::close);
        // The close of the store waits for answers, too: the interrupt flag is restored afterwards.
        boolean interrupted = Thread.interrupted();
        try {
            context.store().close();
        } finally {
            context.runtime().close();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void tell(HoldTable.Held grant) {
        grant.on(new GrantMachine.TakenAway(LossCause.CLIENT_CLOSED));
    }

    /** Repeats the check until it succeeds, or the patience ends; a check that fails is repeated. */
    private void await(BooleanSupplier isOver, long patienceNanos) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        try {
            check(isOver, over);
            Futures.joinAtMost(context.runtime(), over, patienceNanos);
        } finally {
            // The last check.
            over.complete(null);
        }
    }

    private void check(BooleanSupplier isOver, CompletableFuture<Void> over) {
        boolean done = false;
        try {
            done = over.isDone() || isOver.getAsBoolean();
        } catch (RuntimeException | Error e) {
            LOG.error("a check of what a closing lock client waits for has failed; it is repeated", e);
        }
        if (done) {
            over.complete(null);
        } else {
            // If no further check can be scheduled, the patience ends the wait.
            Futures.guarded(
                    "the next check of a closing client",
                    () -> context.runtime().schedule(CHECK_NANOS, () -> check(isOver, over)));
        }
    }

    /**
     * Whether nothing is in progress. The order of the checks follows the life of a grant. A grant is among the holds
     * before its attempt is over, and before the retrier loses the downgrade from which it comes. Its end is recorded
     * when it is decided, and the retrier has it before that record is removed.
     */
    private boolean isQuiet() {
        boolean noneAsks = attempts.isIdle();
        boolean noneIsRepeated = context.retrier().isIdle();
        endStragglers();
        boolean noneEnds = context.holds().hasNoneEnding();
        return noneAsks && noneIsRepeated && noneEnds && context.retrier().isIdle();
    }

    /**
     * Ends the grants that arrived after the holders were notified, and those whose holders could not be notified
     * because of an error. The others are no longer among the holds.
     */
    private void endStragglers() {
        attempts.withdraw();
        context.holds().all().forEach(grant -> {
            tell(grant);
            grant.endAtClose();
        });
    }
}
