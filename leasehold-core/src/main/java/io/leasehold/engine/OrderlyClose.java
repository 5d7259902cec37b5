package io.leasehold.engine;

import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The close of a client in steps that continue after a failure: in the end the store is closed, and no thread waits for an answer.
 */
final class OrderlyClose {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long QUIET_CHECK_NANOS = 2_000_000;

    private final EngineContext context;
    private final Attempts attempts;
    private final CompletableFuture<Void> quiet = new CompletableFuture<>();

    OrderlyClose(EngineContext context, Attempts attempts) {
        this.context = context;
        this.attempts = attempts;
    }

    /** Ends everything; awaited holders have half of the patience to finish their current work. */
    void end(long patienceNanos, Predicate<HoldTable.Held> isAwaited) {
        attempts.withdraw();
        List<HoldTable.Held> held = context.holds().all();
        held.forEach(grant -> Futures.guarded("telling a holder of the close", () -> tell(grant)));
        Futures.guarded("the wait for holders", () -> awaitHolders(held, isAwaited, patienceNanos / 2));
        held.forEach(grant -> Futures.guarded("ending a lease at the close", grant::endAtClose));
        Futures.guarded("the wait for the last answers", () -> awaitQuiet(patienceNanos / 2));
        // The store waits for answers, too: the interrupt flag is restored afterwards.
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
        grant.on(new GrantEvent.TakenAway(LossCause.CLIENT_CLOSED));
    }

    private void awaitHolders(List<HoldTable.Held> held, Predicate<HoldTable.Held> isAwaited, long patienceNanos) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        checkHolders(held, isAwaited, context.runtime().nanoTime() + patienceNanos, over);
        Futures.join(context.runtime(), over);
    }

    private void checkHolders(
            List<HoldTable.Held> held,
            Predicate<HoldTable.Held> isAwaited,
            long untilAtNanos,
            CompletableFuture<Void> over) {
        try {
            boolean awaited = held.stream().anyMatch(isAwaited);
            if (!awaited || context.runtime().nanoTime() - untilAtNanos >= 0) {
                over.complete(null);
            } else {
                context.runtime().schedule(QUIET_CHECK_NANOS, () -> checkHolders(held, isAwaited, untilAtNanos, over));
            }
        } catch (RuntimeException | Error e) {
            // Without another check nothing would end the wait.
            LOG.error("the holders of a closing lock client are no longer awaited", e);
            over.complete(null);
        }
    }

    private void awaitQuiet(long patienceNanos) {
        LockRuntime.Timer limit = context.runtime().schedule(patienceNanos, () -> quiet.complete(null));
        checkQuiet();
        Futures.join(context.runtime(), quiet);
        limit.cancel();
    }

    /** Completes {@link #quiet} once every reply that could cause further requests has arrived. */
    private void checkQuiet() {
        boolean isOver = quiet.isDone();
        try {
            isOver |= isQuiet();
        } catch (RuntimeException | Error e) {
            LOG.error("a check of what a closing lock client waits for has failed; it is repeated", e);
        }
        if (isOver) {
            quiet.complete(null);
        } else {
            // Without another check the limit ends the wait.
            Futures.guarded(
                    "the wait for the last answers",
                    () -> context.runtime().schedule(QUIET_CHECK_NANOS, this::checkQuiet));
        }
    }

    /**
     * Whether nothing is under way. Checked in the order of a grant's life: it is among the holds before its attempt is over,
     * and its end is recorded when it is decided, and is with the retrier before that record is removed.
     */
    private boolean isQuiet() {
        boolean noneAsks = attempts.isIdle();
        endStragglers();
        boolean noneEnds = context.holds().hasNoneEnding();
        return noneAsks && noneEnds && context.retrier().isIdle();
    }

    /**
     * Ends the grants that arrived after the holders were told, and those whose holders could not be told because of an error.
     * The others are no longer among the holds.
     */
    private void endStragglers() {
        attempts.withdraw();
        context.holds().all().forEach(grant -> {
            tell(grant);
            grant.endAtClose();
        });
    }
}
