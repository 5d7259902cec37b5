package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LockListener;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.MultiLease;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt on several locks. If the store supports it and all locks are free, one atomic request acquires
 * them. Otherwise, one {@link AcquireAttempt} follows the other in the order of the names, so that callers cannot wait
 * for each other in a circle. If a part ends while the attempt waits for the others (a fixed ttl, an operator), the
 * attempt starts over.
 *
 * <p>{@code this} guards the fields that change; only {@link TakenParts} is called inside the guard.
 */
final class MultiAcquire extends PendingAttempt<MultiLease> {

    private final List<LockName> names;
    private final MultiMachine machine;
    private final Attempts attempts;
    private final TakenParts<LeaseHandle> parts = new TakenParts<>();
    private final StepLoop taking = new StepLoop(this::acquireNext);
    private @Nullable AcquireAttempt current;
    /** Completes when the reply to the last atomic request has been processed. */
    private CompletableFuture<?> requestDone = CompletableFuture.completedFuture(null);

    MultiAcquire(
            List<LockName> names,
            WaitSettings settings,
            long maxWaitNanos,
            Attempts attempts,
            EngineContext context,
            @Nullable Throwable asked) {
        super(settings, context, asked);
        this.names = names;
        this.attempts = attempts;
        String what = "locks " + names + " at " + context.store().description();
        this.machine = new MultiMachine(what, settings.timings(), maxWaitNanos, startAtNanos);
        result.whenComplete((attempt, error) -> attempts.settled(this));
    }

    /**
     * Whether the attempt has its result and no atomic request is in flight; the queues watch its
     * {@link AcquireAttempt}s.
     */
    synchronized boolean isOver() {
        return result.isDone() && requestDone.isDone();
    }

    void start() {
        if (names.size() > 1 && context.store().isAtomicOver(names)) {
            acquireAtomically();
        } else {
            taking.run();
        }
    }

    // ---- all at once

    private void acquireAtomically() {
        OwnerToken owner = OwnerToken.draw(context.runtime());
        AcquireRequest request = context.request(names, owner, settings);
        long mark = context.suspensions().mark();
        CompletableFuture<Void> processed = new CompletableFuture<>();
        synchronized (this) {
            if (parts.isClosed()) {
                return;
            }
            requestDone = processed;
        }
        Futures.ask(() -> context.store().acquire(request)).whenComplete((reply, error) -> {
            try {
                answeredAtomically(owner, mark, reply != null ? reply : broken(error), parts.isClosed());
            } catch (RuntimeException | Error e) {
                undo(owner, reply == null ? 0 : reply.ballot());
                parts.giveBack(true);
                result.completeExceptionally(e);
            } finally {
                processed.complete(null);
                attempts.settled(this);
            }
        });
    }

    private AcquireReply broken(@Nullable Throwable error) {
        return new AcquireReply.Failed(
                FailureKind.UNKNOWN,
                new StoreUnavailableException("acquiring " + machine.what() + " failed: " + error, error),
                0);
    }

    private void answeredAtomically(OwnerToken owner, long mark, AcquireReply reply, boolean gone) {
        MultiMachine.Decision decided =
                machine.onReply(reply, gone, context.runtime().nanoTime());
        if (decided.undo()) {
            undo(owner, reply.ballot());
        }
        if (decided.next() instanceof MultiMachine.Keep keep) {
            names.forEach(name -> parts.keep(attempts.keep(name, keep.grant(), settings, mark, asked)));
            tell(AttemptOutcome.ACQUIRED);
            finishAcquired();
        } else if (decided.next() instanceof MultiMachine.Fail fail) {
            boolean ambiguous = fail.error() instanceof AmbiguousAcquireException;
            tell(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR);
            result.completeExceptionally(fail.error());
        } else if (decided.next() instanceof MultiMachine.TakeOneByOne) {
            taking.run();
        } else {
            tell(AttemptOutcome.INTERRUPTED);
        }
    }

    private void undo(OwnerToken owner, long ballot) {
        parts.leaves(context.retrier()
                .end(names, owner, ballot, ReleaseRequest.Kind.UNDO, settings.timings())
                .over());
    }

    private void tell(AttemptOutcome outcome) {
        Duration waited = waited();
        // An atomic request has one event; the parts of a sequence report their own.
        for (LockName name : names) {
            context.events().tell(l -> l.attemptBegan(new LockListener.AttemptBegan(name)));
            context.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(name, outcome, waited)));
        }
    }

    // ---- one after the other

    private void acquireNext() {
        try {
            acquireOne();
        } catch (RuntimeException | Error e) {
            parts.giveBack(true);
            result.completeExceptionally(e);
        }
    }

    private void acquireOne() {
        int held = parts.size();
        if (parts.isClosed()) {
            return;
        }
        if (held == names.size()) {
            finishIfAllAreHeld();
            return;
        }
        AcquireAttempt waiter = attempts.enter(names.get(held), settings, patienceLeft(), asked);
        synchronized (this) {
            current = waiter;
        }
        // A withdrawal closes the parts before it looks for the current one.
        if (parts.isClosed()) {
            waiter.giveUp();
        }
        waiter.result().whenComplete(this::answered);
    }

    private long patienceLeft() {
        return machine.patienceLeftNanos(context.runtime().nanoTime());
    }

    private void answered(@Nullable Attempt<Lease> attempt, @Nullable Throwable error) {
        if (attempt instanceof Attempt.Acquired<Lease> one) {
            if (parts.keep(LeaseHandle.of(one.lease()))) {
                taking.run();
            }
            return;
        }
        parts.giveBack(true);
        if (attempt instanceof Attempt.Busy<Lease> busy) {
            result.complete(new Attempt.Busy<>(busy.lockName(), waited(), busy.holder(), busy.votes()));
        } else if (error != null) {
            result.completeExceptionally(Futures.unwrapped(error));
        }
    }

    /**
     * Finishes if all parts are held. The first part may have ended during the wait for the last; then no part is
     * handed out.
     */
    private void finishIfAllAreHeld() {
        LockName ended = null;
        for (LeaseHandle part : parts.all()) {
            if (!machine.isWorthKeeping(part.state().remaining().toNanos())) {
                ended = part.lockName();
                break;
            }
        }
        if (ended == null) {
            finishAcquired();
            return;
        }
        boolean again = patienceLeft() > 0;
        parts.giveBack(!again);
        if (again) {
            start();
        } else {
            result.complete(new Attempt.Busy<>(ended, waited(), null, List.of()));
        }
    }

    private void finishAcquired() {
        List<LeaseHandle> all = parts.all();
        if (all.size() == names.size()) {
            result.complete(new Attempt.Acquired<>(new MultiLeaseHandle(all)));
        }
    }

    // ---- giving up

    @Override
    CompletableFuture<?> giveUp() {
        result.completeExceptionally(withdrawn(names.toString(), false));
        return withdraw().thenCompose(answered -> parts.leaving());
    }

    /**
     * Fails the result before the current part fails. The parts that the attempt holds are ended like every other
     * lease.
     */
    @Override
    public void clientClosing() {
        if (result.completeExceptionally(withdrawn(names.toString(), true))) {
            withdraw();
        }
    }

    /**
     * Withdraws the parts. Completes when nothing is left of the current part, and the atomic request has been
     * answered.
     */
    private CompletableFuture<?> withdraw() {
        parts.giveBack(true);
        AcquireAttempt waiting;
        CompletableFuture<?> answered;
        synchronized (this) {
            waiting = current;
            answered = requestDone;
        }
        return waiting == null ? answered : CompletableFuture.allOf(waiting.giveUp(), answered);
    }
}
