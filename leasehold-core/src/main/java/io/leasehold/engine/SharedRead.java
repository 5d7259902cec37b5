package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockListener.AttemptOutcome;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One request for a read lease, which several callers of this process share, and then its grant: performs the decisions
 * of its {@link ReadJoins}. The request has no patience of its own: each caller leaves when its patience ends, and the
 * last one withdraws the request.
 *
 * <p>{@code this} guards the fields that change; callers, the request and the grant are called without the guard.
 */
final class SharedRead {

    /**
     * The departure of a caller.
     *
     * @param isLeft whether the caller had no outcome; it delivers its own
     * @param isLast whether no other caller waits, so that the outcome of the request is its own
     * @param settled completes when the store has confirmed that nothing of the request is left, if no caller wants it
     */
    record Left(boolean isLeft, boolean isLast, CompletableFuture<?> settled) {}

    private static final CompletableFuture<?> NOTHING = CompletableFuture.completedFuture(null);

    private final SharedReads reads;
    private final ReadJoins<ReadAttempt> joins = new ReadJoins<>(SharedReads.JOIN_NANOS);
    private final AcquireAttempt attempt;
    /** Whether a caller must not wait for the first answer beyond its patience: it has arrived, or is not near. */
    private boolean watched;

    private AttemptOutcome outcome = AttemptOutcome.ERROR;
    private @Nullable SharedLease hold;

    /** Creates a request that begins with its first caller, which is similar to this one. */
    SharedRead(ReadAttempt first, SharedReads reads, EngineContext context, LocalQueues queues) {
        this.reads = reads;
        long patienceNanos = first.asksOnce() ? 0 : Long.MAX_VALUE;
        AttemptPart shared = new AttemptPart(this::ending, this::answered, false, 1, false);
        this.attempt = new AcquireAttempt(first.name(), first.settings, patienceNanos, context, queues, null, shared);
    }

    AcquireAttempt contender() {
        return attempt;
    }

    /** Adds the caller; returns false if it needs another request. */
    boolean enter(ReadAttempt caller) {
        ReadJoins.Entry entry;
        boolean watches;
        synchronized (this) {
            entry = joins.enter(caller, now());
            watches = watched;
            if (entry == ReadJoins.Entry.BEGINS || entry == ReadJoins.Entry.WAITS) {
                caller.entered(this);
            }
        }
        switch (entry) {
            case BEGINS -> begin();
            case WAITS -> {
                if (watches) {
                    caller.watchPatience();
                }
            }
            case SHARES -> {
                return share(caller);
            }
            case CLOSED -> {
                return false;
            }
        }
        return true;
    }

    /** Gives the caller a share, if the request was granted a moment ago; returns false if not. */
    boolean joinGrant(ReadAttempt caller) {
        synchronized (this) {
            if (!joins.joinsGrant(now())) {
                return false;
            }
        }
        return share(caller);
    }

    /** Reads the clock; under the guard, so that no caller comes with a time from before the grant. */
    private long now() {
        return attempt.context.runtime().nanoTime();
    }

    private boolean share(ReadAttempt caller) {
        SharedLease granted;
        synchronized (this) {
            granted = hold;
        }
        LeaseHandle lease = granted == null ? null : granted.share(caller.asked);
        if (lease == null) {
            return false;
        }
        caller.entered(this);
        caller.acquired(lease);
        return true;
    }

    private void begin() {
        attempt.result().whenComplete((end, error) -> Futures.guarded("a shared attempt", () -> ended(end, error)));
        try {
            reads.contend(attempt);
        } catch (RuntimeException | Error e) {
            // The first caller receives this failure; the others must not wait for a request that was not sent.
            fail(AttemptOutcome.ERROR, e);
            if (!isGranted()) {
                attempt.giveUp();
            }
            throw e;
        }
        if (attempt.isLocal()) {
            answered();
        }
    }

    /** Whether callers have received the hold: then they release it. */
    private synchronized boolean isGranted() {
        return hold != null;
    }

    /** Receives the outcome of the request, before its result. */
    private synchronized void ending(AttemptOutcome how) {
        outcome = how;
    }

    /** From now on, each caller watches its patience: the first answer has arrived, or is not near. */
    private void answered() {
        List<ReadAttempt> waiting;
        synchronized (this) {
            if (watched) {
                return;
            }
            watched = true;
            waiting = joins.waiting();
        }
        waiting.forEach(caller -> Futures.guarded("the patience of a reader", caller::watchPatience));
    }

    private void ended(@Nullable Attempt<Lease> end, @Nullable Throwable error) {
        if (end instanceof Attempt.Acquired<Lease> acquired) {
            grantedOrFailed(LeaseHandle.of(acquired.lease()));
        } else if (end instanceof Attempt.Busy<Lease> busy) {
            close().forEach(caller -> Futures.guarded("a busy lock", () -> caller.busy(busy)));
        } else {
            AttemptOutcome how;
            synchronized (this) {
                how = outcome;
            }
            fail(how, error == null ? new IllegalStateException("an attempt without an outcome") : error);
        }
    }

    private void fail(AttemptOutcome how, Throwable error) {
        Throwable why = Futures.unwrapped(error);
        close().forEach(caller -> Futures.guarded("a failed attempt", () -> caller.failed(how, why)));
    }

    private List<ReadAttempt> close() {
        reads.remove(this);
        synchronized (this) {
            return joins.closed();
        }
    }

    private void grantedOrFailed(LeaseHandle handle) {
        try {
            granted(handle);
        } catch (RuntimeException | Error e) {
            // No caller has a share.
            Futures.guarded("the return of a shared hold", () -> UnseenHold.giveBack(handle));
            fail(AttemptOutcome.ERROR, e);
        }
    }

    private void granted(LeaseHandle handle) {
        SharedLease granted = SharedLease.of(handle);
        List<ReadAttempt> callers;
        synchronized (this) {
            callers = joins.granted(now());
            granted.expect(callers.size());
            hold = granted;
        }
        if (callers.isEmpty()) {
            reads.remove(this);
            UnseenHold.giveBack(handle);
            return;
        }
        Futures.guarded("the record of a shared hold", () -> reads.granted(this, granted));
        for (ReadAttempt caller : callers) {
            Futures.guarded("a share of a hold", () -> deliver(granted, caller));
        }
    }

    private static void deliver(SharedLease granted, ReadAttempt caller) {
        LeaseHandle lease;
        try {
            lease = granted.shareExpected(caller.asked);
        } catch (RuntimeException | Error e) {
            caller.failed(AttemptOutcome.ERROR, e);
            return;
        }
        caller.acquired(lease);
    }

    AcquireMachine.Outcome outcomeSoFar() {
        return attempt.outcomeSoFar();
    }

    private CompletableFuture<?> withdrawn() {
        try {
            return attempt.giveUp();
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Removes a caller that no longer waits. */
    Left leave(ReadAttempt caller) {
        ReadJoins.Departure departure;
        synchronized (this) {
            departure = joins.left(caller);
        }
        return switch (departure) {
            case DECIDED -> new Left(false, false, NOTHING);
            case OTHERS_WAIT -> new Left(true, false, NOTHING);
            case NONE_WAITS -> {
                // The caller waits for no other outcome: it must receive its own.
                Futures.guarded("the end of a shared attempt", () -> reads.remove(this));
                yield new Left(true, true, withdrawn());
            }
        };
    }
}
