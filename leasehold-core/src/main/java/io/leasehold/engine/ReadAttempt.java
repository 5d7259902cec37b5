package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt to acquire a read lease: it waits, with its own patience, for the request that it shares with
 * others.
 *
 * <p>The {@link SharedRead} decides who delivers the outcome: exactly one. {@code this} guards the fields that change.
 */
final class ReadAttempt extends PendingAttempt<Lease> {

    private final LockName name;
    private final long maxWaitNanos;
    private final AttemptNews news;
    /** The callers with which this one waits; null until it has entered. */
    private @Nullable SharedRead group;

    private LockRuntime.@Nullable Timer timer;
    private boolean delivered;

    ReadAttempt(
            LockName name, WaitSettings settings, long maxWaitNanos, EngineContext context, @Nullable Throwable asked) {
        super(settings, context, asked);
        this.name = name;
        this.maxWaitNanos = maxWaitNanos;
        this.news = new AttemptNews(name, context, startAtNanos);
    }

    LockName name() {
        return name;
    }

    long maxWaitNanos() {
        return maxWaitNanos;
    }

    boolean asksOnce() {
        return maxWaitNanos == 0;
    }

    synchronized void entered(SharedRead callers) {
        group = callers;
    }

    private synchronized @Nullable SharedRead group() {
        return group;
    }

    /** Begins to watch the patience, unless it has no end: the request of a caller without patience ends by itself. */
    void watchPatience() {
        if (asksOnce() || maxWaitNanos > Long.MAX_VALUE / 2) {
            return;
        }
        synchronized (this) {
            if (delivered || timer != null) {
                return;
            }
            timer = context.timeline().scheduleAt(startAtNanos + maxWaitNanos, this::patienceEnded);
        }
    }

    /** Ends the wait. Nothing else may end it, so a failed check is repeated. */
    private void patienceEnded() {
        try {
            checkPatience();
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                timer = delivered
                        ? null
                        : context.timeline().schedule(TimerQueue.CHECK_AGAIN_NANOS, this::patienceEnded);
            }
            throw e;
        }
    }

    private void checkPatience() {
        if (context.runtime().nanoTime() - startAtNanos < maxWaitNanos) {
            synchronized (this) {
                timer = null;
            }
            watchPatience();
            return;
        }
        SharedRead callers = group();
        if (callers == null) {
            return;
        }
        AcquireMachine.Outcome outcome = callers.outcomeSoFar();
        SharedRead.Left left = callers.leave(this);
        if (!left.isLeft()) {
            return;
        }
        try {
            timedOut(outcome, left.isLast());
        } catch (RuntimeException | Error e) {
            // It has left, so nothing else delivers an outcome.
            failed(AttemptOutcome.ERROR, e);
            throw e;
        }
    }

    private void timedOut(AcquireMachine.Outcome outcome, boolean isLast) {
        if (outcome instanceof AcquireMachine.Failed failed) {
            LockStoreException error = isLast ? failed.error() : forOne(failed.error());
            boolean ambiguous = error instanceof AmbiguousAcquireException;
            failed(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR, error);
        } else {
            AcquireMachine.Busy busy = (AcquireMachine.Busy) outcome;
            busy(new Attempt.Busy<>(name, waited(), busy.holder(), busy.votes()));
        }
    }

    /** Returns the error for a caller that leaves others: the request of unknown outcome is that of the others. */
    private static LockStoreException forOne(LockStoreException error) {
        return error instanceof AmbiguousAcquireException
                ? new StoreUnavailableException(String.valueOf(error.getMessage()), error.votes(), error)
                : error;
    }

    // ---- the outcome: called by the one that has taken this caller out of the group

    void acquired(LeaseHandle lease) {
        deliver(AttemptOutcome.ACQUIRED);
        result.complete(new Attempt.Acquired<>(lease));
    }

    void busy(Attempt.Busy<Lease> busy) {
        Attempt<Lease> outcome;
        try {
            outcome = new Attempt.Busy<>(busy.lockName(), waited(), busy.holder(), busy.votes());
        } catch (RuntimeException | Error e) {
            // Nothing else delivers an outcome.
            failed(AttemptOutcome.ERROR, e);
            throw e;
        }
        deliver(asksOnce() ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT);
        result.complete(outcome);
    }

    void failed(AttemptOutcome outcome, Throwable error) {
        try {
            deliver(outcome);
        } finally {
            result.completeExceptionally(error);
        }
    }

    private void deliver(AttemptOutcome outcome) {
        synchronized (this) {
            delivered = true;
            timer = TimerQueue.cancelled(timer);
        }
        news.ended(outcome);
    }

    // ---- giving up

    @Override
    CompletableFuture<?> giveUp() {
        CompletableFuture<?> left = stop(false);
        return result.<CompletableFuture<?>>handle(
                        (attempt, error) -> attempt instanceof Attempt.Acquired<Lease> acquired
                                ? UnseenHold.giveBack(acquired.lease())
                                : left)
                .thenCompose(last -> last.handle((end, failure) -> failure));
    }

    @Override
    public void clientClosing() {
        stop(true);
    }

    /** Leaves the others; completes when nothing is left of a request that no other caller wants. */
    private CompletableFuture<?> stop(boolean byClose) {
        SharedRead callers = group();
        if (callers == null) {
            failed(AttemptOutcome.INTERRUPTED, withdrawn("\"" + name + "\"", byClose));
            return CompletableFuture.completedFuture(null);
        }
        SharedRead.Left left = callers.leave(this);
        if (left.isLeft()) {
            failed(AttemptOutcome.INTERRUPTED, withdrawn("\"" + name + "\"", byClose));
        }
        return left.settled();
    }
}
