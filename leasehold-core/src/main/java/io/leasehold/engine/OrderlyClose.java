package io.leasehold.engine;

import io.leasehold.LossCause;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The close of a client, step by step, also if one of them fails: in the end the store is closed, and no thread waits for an answer.
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

    /** Ends everything; the threads of holders that are awaited may finish what they are in the middle of, for half of the patience. */
    void end(long patienceNanos, Predicate<HoldTable.Held> isAwaited) {
        attempts.withdraw();
        List<HoldTable.Held> held = context.holds().all();
        held.forEach(grant -> Futures.guarded("telling a holder of the close", () -> tell(grant)));
        Futures.guarded("the wait for holders", () -> awaitHolders(held, isAwaited, patienceNanos / 2));
        held.forEach(grant -> Futures.guarded("ending a lease at the close", grant::endAtClose));
        Futures.guarded("the wait for the last answers", () -> awaitQuiet(patienceNanos / 2));
        // The store waits for answers, too: the flag is put back when it has.
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
            // Without a next look nothing would end the wait.
            LOG.error("the holders of a lock client that closes are awaited no more", e);
            over.complete(null);
        }
    }

    private void awaitQuiet(long patienceNanos) {
        LockRuntime.Timer limit = context.runtime().schedule(patienceNanos, () -> quiet.complete(null));
        checkQuiet();
        Futures.join(context.runtime(), quiet);
        limit.cancel();
    }

    /** Completes {@link #quiet} once every reply that something could follow from has come. */
    private void checkQuiet() {
        boolean isOver = quiet.isDone();
        try {
            isOver |= isQuiet();
        } catch (RuntimeException | Error e) {
            LOG.error("a look at what a lock client that closes waits for has failed; the next one is made", e);
        }
        if (isOver) {
            quiet.complete(null);
        } else {
            // Without a next look the limit ends the wait.
            Futures.guarded(
                    "the wait for the last answers",
                    () -> context.runtime().schedule(QUIET_CHECK_NANOS, this::checkQuiet));
        }
    }

    /**
     * Whether nothing is under way. It is looked for in the order in which it moves: a grant is among the holds before its attempt is
     * over, and its end is noted when it is decided, and with the retrier before that is forgotten.
     */
    private boolean isQuiet() {
        boolean noneAsks = attempts.isNoneUnderWay();
        endStragglers();
        boolean noneEnds = context.holds().isNoneEnding();
        return noneAsks && noneEnds && context.retrier().isIdle();
    }

    /**
     * Grants that came after the holders were told; those that were told are not among the holds any more. And what an error has kept
     * from being told.
     */
    private void endStragglers() {
        attempts.withdraw();
        context.holds().all().forEach(grant -> {
            tell(grant);
            grant.endAtClose();
        });
    }
}
