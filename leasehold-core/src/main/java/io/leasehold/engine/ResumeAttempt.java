package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockListener;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.TicketRefusedException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.UnansweredResumes.Unanswered;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt to resume an exported lease: performs the decisions of its {@link ResumeMachine}, and holds the
 * result. It has no place in a queue, since it waits for no holder.
 *
 * <p>{@code this} guards the machine and the fields that change. Calls to other classes are made without the guard.
 */
final class ResumeAttempt extends PendingAttempt<Lease> {

    private final LeaseTicket ticket;
    private final OwnerToken ticketOwner;
    private final OwnerToken owner;
    private final Attempts attempts;
    private final ResumeMachine machine;
    /** Completes when no request is in flight, and none follows. */
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    /** The mark of the {@link SuspendWatch}, taken before the last request was sent. */
    private long mark;

    private boolean asking;
    private boolean over;

    ResumeAttempt(
            LeaseTicket ticket,
            WaitSettings settings,
            long maxWaitNanos,
            Attempts attempts,
            @Nullable Throwable asked) {
        super(settings, attempts.context(), asked);
        this.ticket = ticket;
        this.attempts = attempts;
        this.ticketOwner = OwnerToken.fromHex(ticket.secret());
        Unanswered before = attempts.unansweredResumes().take(ticket.secret());
        this.owner = before == null ? OwnerToken.draw(context.runtime()) : before.owner();
        this.machine = new ResumeMachine(
                what(),
                settings.timings(),
                maxWaitNanos,
                ticket.claim().toNanos(),
                before == null ? 0 : before.ballot(),
                startAtNanos);
        context.events().tell(l -> l.attemptBegan(new LockListener.AttemptBegan(ticket.lockName())));
    }

    private String what() {
        return "the ticket of lock \"" + ticket.lockName() + "\" at "
                + context.store().description();
    }

    /** Sends the first request. */
    void start() {
        ask();
    }

    private void ask() {
        AcquireRequest request;
        synchronized (this) {
            if (over) {
                return;
            }
            asking = true;
            mark = context.suspensions().mark();
            LockName name = ticket.lockName();
            request = context.request(List.of(name), owner, settings).ballotSoFar(machine.ballot());
        }
        Futures.ask(() -> resume(request))
                .whenComplete((reply, error) -> Futures.guarded(
                        "an answered attempt to resume", () -> answered(reply != null ? reply : broken(error))));
    }

    /** A store that is opened only now may turn out to keep no tickets. */
    private CompletableFuture<AcquireReply> resume(AcquireRequest request) {
        LeaseExport.requireTickets(context.store(), "resume " + what());
        return context.store().resume(request, ticketOwner);
    }

    private AcquireReply broken(@Nullable Throwable error) {
        Throwable cause = error == null ? null : Futures.unwrapped(error);
        return cause instanceof UnsafeStoreException unsafe
                ? new AcquireReply.Failed(FailureKind.PERMANENT, unsafe, 0)
                : new AcquireReply.Failed(
                        FailureKind.UNKNOWN,
                        new StoreUnavailableException("resuming " + what() + " failed: " + error, error),
                        0);
    }

    private void answered(AcquireReply reply) {
        ResumeMachine.Decision decision;
        synchronized (this) {
            asking = false;
            decision = machine.on(reply, context.runtime().nanoTime());
            if (over) {
                keepUnknown(reply instanceof AcquireReply.Granted);
                settled.complete(null);
                return;
            }
            over = !(decision instanceof ResumeMachine.Again);
        }
        if (decision instanceof ResumeMachine.Again again) {
            context.timeline().schedule(again.afterNanos(), this::ask);
        } else {
            finish(decision);
        }
    }

    /** Lets the next attempt with this ticket continue with the same owner token, which may have the lock. */
    private void keepUnknown(boolean isUnknown) {
        if (isUnknown || machine.isUnknown()) {
            long nowNanos = context.runtime().nanoTime();
            long untilAtNanos =
                    nowNanos + ticket.claim().toNanos() + settings.timings().undoNanos();
            attempts.unansweredResumes()
                    .keep(ticket.secret(), new Unanswered(owner, machine.ballot(), untilAtNanos), nowNanos);
        }
    }

    private void finish(ResumeMachine.Decision decision) {
        try {
            if (decision instanceof ResumeMachine.Hold hold) {
                deliver(hold.grant());
            } else if (decision instanceof ResumeMachine.Refuse refuse) {
                fail(
                        AttemptOutcome.ERROR,
                        new TicketRefusedException(ticket, context.store().description(), refuse.holder()));
            } else if (decision instanceof ResumeMachine.Fail failed) {
                keepUnknown(false);
                boolean ambiguous = failed.error() instanceof AmbiguousAcquireException;
                fail(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR, failed.error());
            }
        } catch (RuntimeException | Error e) {
            fail(AttemptOutcome.ERROR, e);
            throw e;
        } finally {
            attempts.settled(this);
            settled.complete(null);
        }
    }

    private void deliver(Grant grant) {
        long sentMark;
        synchronized (this) {
            sentMark = mark;
        }
        LeaseHandle lease = attempts.keep(ticket.lockName(), grant, settings, sentMark, asked);
        tell(AttemptOutcome.ACQUIRED);
        result.complete(new Attempt.Acquired<>(lease));
    }

    private void fail(AttemptOutcome outcome, Throwable error) {
        tell(outcome);
        result.completeExceptionally(error);
    }

    private void tell(AttemptOutcome outcome) {
        context.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(ticket.lockName(), outcome, waited())));
    }

    /** Stops asking. A lease that was shown to no caller is released; an unanswered request is not undone. */
    @Override
    CompletableFuture<?> giveUp() {
        stop(false);
        return result.<CompletableFuture<?>>handle(
                        (attempt, error) -> attempt instanceof Attempt.Acquired<Lease> acquired
                                ? UnseenHold.giveBack(acquired.lease())
                                : settled)
                .thenCompose(last -> last.handle((end, failure) -> failure));
    }

    @Override
    public void clientClosing() {
        stop(true);
    }

    private void stop(boolean byClose) {
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
            if (!asking) {
                keepUnknown(false);
                settled.complete(null);
            }
        }
        attempts.settled(this);
        fail(AttemptOutcome.INTERRUPTED, withdrawn("\"" + ticket.lockName() + "\"", byClose));
    }
}
