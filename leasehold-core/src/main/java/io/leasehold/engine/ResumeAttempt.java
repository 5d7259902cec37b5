package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockListener;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.TicketRefusedException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.UnansweredResumes.Unanswered;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt to resume an exported lease: performs the decisions of its {@link ResumeMachine}, and holds the
 * result. It waits for no holder, only for its turn among the attempts of the client with the same ticket.
 *
 * <p>{@code this} guards the machine and the fields that change. A timer is armed under the guard; other calls to
 * other classes are made without it.
 */
final class ResumeAttempt extends PendingAttempt<Lease> implements UnansweredResumes.Resuming {

    private final LeaseTicket ticket;
    private final OwnerToken ticketOwner;
    private final long maxWaitNanos;
    private final Attempts attempts;
    private final ResumeMachine machine;
    /** Completes when no request is in flight, and none follows. */
    private final CompletableFuture<Void> settled = new CompletableFuture<>();
    /** That of the attempt that this one continues, if it continues one. */
    private OwnerToken owner;
    /** The mark of the {@link SuspendWatch}, taken before the last request was sent. */
    private long mark;

    /** When the store has forgotten the owner token, whatever it has done with the requests so far. Never sooner. */
    private long forgottenAtNanos;
    /** Whether the store has answered that the owner token has the lock, and has not denied it since. */
    private boolean granted;

    private boolean hasTurn;
    private boolean asking;
    private boolean over;
    private boolean settling;
    /** The end of the wait for the turn. */
    private LockRuntime.@Nullable Timer late;

    ResumeAttempt(
            LeaseTicket ticket,
            WaitSettings settings,
            long maxWaitNanos,
            Attempts attempts,
            @Nullable Throwable asked) {
        super(settings, attempts.context(), asked);
        this.ticket = ticket;
        this.maxWaitNanos = maxWaitNanos;
        this.attempts = attempts;
        this.ticketOwner = OwnerToken.fromHex(ticket.secret());
        this.owner = OwnerToken.draw(context.runtime());
        this.forgottenAtNanos = forgottenAtNanos(startAtNanos);
        this.machine = new ResumeMachine(
                what(), settings.timings(), maxWaitNanos, ticket.claim().toNanos(), startAtNanos);
        context.events().tell(l -> l.attemptBegan(new LockListener.AttemptBegan(ticket.lockName())));
    }

    private long forgottenAtNanos(long answeredAtNanos) {
        return answeredAtNanos + ticket.claim().toNanos() + settings.timings().undoNanos();
    }

    private String what() {
        return "the ticket of lock \"" + ticket.lockName() + "\" at "
                + context.store().description();
    }

    /**
     * Sends the first request when the attempt has the turn. It waits for that for its patience, and at least as long as
     * a store may take to answer a request of the earlier attempt.
     */
    void start() {
        attempts.unansweredResumes().enter(ticket.secret(), this, startAtNanos);
        synchronized (this) {
            if (!hasTurn && !over) {
                long patienceNanos = Math.max(maxWaitNanos, settings.timings().answerNanos());
                late = context.timeline().schedule(patienceNanos, this::turnIsLate);
            }
        }
    }

    @Override
    public boolean begin(@Nullable Unanswered before) {
        synchronized (this) {
            if (over) {
                return false;
            }
            hasTurn = true;
            late = TimerQueue.cancelled(late);
            if (before != null) {
                owner = before.owner();
                granted = before.release() != null;
                forgottenAtNanos = later(forgottenAtNanos, before.untilAtNanos());
                machine.continues(before.ballot());
            }
        }
        ask();
        return true;
    }

    private void turnIsLate() {
        synchronized (this) {
            if (over || hasTurn) {
                return;
            }
            over = true;
        }
        settle(null);
        fail(
                AttemptOutcome.AMBIGUOUS,
                new AmbiguousAcquireException(
                        "the attempt to resume " + what() + " was not begun: an earlier attempt of this client with the"
                                + " same ticket is still in progress, and its outcome is unknown",
                        null));
    }

    /** Sends a request, unless the attempt is over. A request that could not be sent has failed without effect. */
    private void ask() {
        AcquireRequest request;
        try {
            synchronized (this) {
                if (over) {
                    return;
                }
                mark = context.suspensions().mark();
                request = context.request(List.of(ticket.lockName()), owner, settings)
                        .ballotSoFar(machine.ballot());
                asking = true;
            }
        } catch (RuntimeException | Error e) {
            answered(failed(FailureKind.NO_EFFECT, e, 0));
            return;
        }
        try {
            Futures.ask(() -> resume(request))
                    .whenComplete((reply, error) -> Futures.guarded(
                            "an answered attempt to resume", () -> answered(reply != null ? reply : broken(error))));
        } catch (RuntimeException | Error e) {
            answered(broken(e));
        }
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
                : failed(FailureKind.UNKNOWN, error, 0);
    }

    private AcquireReply failed(FailureKind kind, @Nullable Throwable error, long ballot) {
        String message = "resuming " + what() + " failed: " + error;
        return new AcquireReply.Failed(kind, new StoreUnavailableException(message, error), ballot);
    }

    private void answered(AcquireReply reply) {
        try {
            decided(reply);
        } catch (RuntimeException | Error e) {
            try {
                // The outcome of an answer that cannot be processed is unknown, and the request is repeated.
                decided(failed(FailureKind.UNKNOWN, e, reply.ballot()));
            } catch (RuntimeException | Error again) {
                breakOff(again);
            }
        }
    }

    private void decided(AcquireReply reply) {
        ResumeMachine.Decision decision;
        boolean withdrawn;
        synchronized (this) {
            asking = false;
            withdrawn = over;
            long nowNanos = context.runtime().nanoTime();
            forgottenAtNanos = later(forgottenAtNanos, forgottenAtNanos(nowNanos));
            granted |= reply instanceof AcquireReply.Granted;
            decision = machine.on(reply, nowNanos);
            granted &= !(decision instanceof ResumeMachine.Refuse);
            // The lease of an attempt that has a caller belongs to that caller.
            granted &= withdrawn || !(decision instanceof ResumeMachine.Hold);
            if (!withdrawn && decision instanceof ResumeMachine.Again again) {
                // Before any other step: the next copy depends on it alone.
                context.timeline().schedule(again.afterNanos(), this::ask);
                return;
            }
            over = true;
        }
        if (withdrawn) {
            // The caller has gone. If the store has answered that it has the lock, the next attempt with this ticket
            // continues it. No attempt follows in a client that closes: that releases the lock.
            settle(rest());
        } else {
            finish(decision);
        }
    }

    /** Ends the attempt, since no further copy can be sent. */
    private void breakOff(Throwable why) {
        boolean withdrawn;
        synchronized (this) {
            withdrawn = over;
            over = true;
        }
        settle(rest());
        if (!withdrawn) {
            fail(AttemptOutcome.ERROR, why);
        }
    }

    private void release() {
        OwnerToken ended;
        long ballot;
        synchronized (this) {
            ended = owner;
            ballot = machine.ballot();
        }
        context.retrier().end(List.of(ticket.lockName()), ended, ballot, ReleaseRequest.Kind.UNDO, settings.timings());
    }

    /** Returns what the next attempt with this ticket continues; null if the owner token does not have the lock. */
    private synchronized @Nullable Unanswered rest() {
        return granted || machine.isUnknown()
                ? new Unanswered(owner, machine.ballot(), forgottenAtNanos, granted ? this::release : null)
                : null;
    }

    private static long later(long oneAtNanos, long otherAtNanos) {
        return oneAtNanos - otherAtNanos > 0 ? oneAtNanos : otherAtNanos;
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
                boolean ambiguous = failed.error() instanceof AmbiguousAcquireException;
                fail(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR, failed.error());
            }
        } catch (RuntimeException | Error e) {
            fail(AttemptOutcome.ERROR, e);
        } finally {
            settle(rest());
        }
    }

    private void deliver(Grant grant) {
        long sentMark;
        synchronized (this) {
            sentMark = mark;
        }
        LeaseHandle lease;
        try {
            lease = attempts.keep(ticket.lockName(), grant, settings, sentMark, asked);
        } catch (RuntimeException | Error e) {
            // The store has answered: no request is left that this could overtake.
            release();
            throw e;
        }
        tell(AttemptOutcome.ACQUIRED);
        result.complete(new Attempt.Acquired<>(lease));
    }

    /** Ends the part of the attempt at the store: lets the next attempt with this ticket begin. */
    private void settle(@Nullable Unanswered rest) {
        boolean left;
        synchronized (this) {
            if (settling) {
                return;
            }
            settling = true;
            left = hasTurn;
            late = TimerQueue.cancelled(late);
        }
        try {
            if (left) {
                attempts.unansweredResumes().leave(ticket.secret(), rest);
            } else {
                attempts.unansweredResumes().withdraw(ticket.secret(), this);
            }
        } finally {
            // A client that closes sees the rest before it finds no attempt.
            attempts.settled(this);
            settled.complete(null);
        }
    }

    private void fail(AttemptOutcome outcome, Throwable error) {
        tell(outcome);
        result.completeExceptionally(error);
    }

    private void tell(AttemptOutcome outcome) {
        context.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(ticket.lockName(), outcome, waited())));
    }

    /**
     * Stops asking. A lease that was shown to no caller is released. A request in flight is not undone; the attempt
     * remains for the next one with this ticket.
     */
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
        boolean inFlight;
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
            inFlight = asking;
        }
        if (!inFlight) {
            settle(rest());
        }
        fail(AttemptOutcome.INTERRUPTED, withdrawn("\"" + ticket.lockName() + "\"", byClose));
    }
}
