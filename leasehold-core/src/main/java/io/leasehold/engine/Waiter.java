package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockListener;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller that wants a lock: carries out what its {@link AcquireMachine} decides, and holds its result.
 *
 * <p>The machine and the fields that change are guarded by {@code this}; actions are carried out outside of it.
 */
final class Waiter implements Pending<Lease> {

    private final LockName name;
    private final WaitSettings settings;
    private final Timings timings;
    private final WaitPolicy policy;
    private final long maxWaitNanos;
    private final long startAtNanos;
    private final Wiring wiring;
    private final NameDesks desks;
    private final AcquireMachine machine;
    private final CompletableFuture<Attempt<Lease>> result = new CompletableFuture<>();

    private OwnerToken owner;
    private LockRuntime.@Nullable Timer timer;
    private boolean closing;

    Waiter(LockName name, WaitSettings settings, long maxWaitNanos, Wiring wiring, NameDesks desks) {
        this.name = name;
        this.settings = settings;
        this.timings = settings.timings();
        this.policy = settings.policy();
        this.maxWaitNanos = maxWaitNanos;
        this.wiring = wiring;
        this.desks = desks;
        this.startAtNanos = wiring.runtime().nanoTime();
        this.owner = OwnerToken.draw(wiring.runtime());
        String what = "lock \"" + name + "\" at " + wiring.store().description();
        this.machine = new AcquireMachine(what, timings, policy, maxWaitNanos, startAtNanos);
    }

    LockName name() {
        return name;
    }

    LockOptions options() {
        return settings.options();
    }

    @Override
    public CompletableFuture<Attempt<Lease>> result() {
        return result;
    }

    /** Stands in the local queue; with no patience, that is already the end. */
    void enqueued() {
        on(maxWaitNanos == 0 ? new AcquireMachine.TimerFired() : new AcquireMachine.Enqueued());
    }

    /** Is first in this process. */
    void start() {
        on(new AcquireMachine.Started());
    }

    /** A lease of a grant that this process holds is offered. */
    AcquireMachine.Offer handOver(LeaseState lease) {
        AcquireMachine.Offer answer;
        synchronized (this) {
            answer = machine.offered();
        }
        if (answer == AcquireMachine.Offer.ACCEPTED) {
            cancelTimer();
            desks.leave(this);
            tell(AttemptOutcome.ACQUIRED, waited());
            result.complete(new Attempt.Acquired<>(wiring.leaks().handle(lease)));
        }
        return answer;
    }

    void woken() {
        on(new AcquireMachine.Woken());
    }

    @Override
    public void giveUp() {
        on(new AcquireMachine.GaveUp());
        result.whenComplete((attempt, error) -> {
            if (attempt instanceof Attempt.Acquired<Lease> acquired) {
                acquired.lease().releaseAsync();
            }
        });
    }

    void clientClosing() {
        synchronized (this) {
            closing = true;
        }
        on(new AcquireMachine.GaveUp());
    }

    private void on(AcquireMachine.Event event) {
        List<AcquireMachine.Action> actions;
        boolean over;
        synchronized (this) {
            boolean wasOver = machine.isOver();
            actions = machine.on(event, wiring.runtime().nanoTime());
            over = machine.isOver() && !wasOver;
        }
        actions.forEach(this::perform);
        if (over) {
            cancelTimer();
            desks.leave(this);
        }
    }

    private void perform(AcquireMachine.Action action) {
        if (action instanceof AcquireMachine.Send send) {
            send(send.freshOwner());
        } else if (action instanceof AcquireMachine.Arm arm) {
            arm(arm.atNanos());
        } else if (action instanceof AcquireMachine.Undo undo) {
            undo(undo.ballot());
        } else if (action instanceof AcquireMachine.Finish finish) {
            finish(finish.outcome());
        }
    }

    private void send(boolean freshOwner) {
        OwnerToken sender;
        synchronized (this) {
            if (freshOwner) {
                owner = OwnerToken.draw(wiring.runtime());
            }
            sender = owner;
        }
        AcquireRequest request = AcquireRequest.exclusive(
                        List.of(name), sender, wiring.holderId(), timings.toldNanos(), timings.answerNanos())
                .reserve(desks.reserve(name))
                .seenToken(desks.seenToken(name));
        if (maxWaitNanos > 0) {
            request = request.waiting(policy.silenceNanos());
        }
        AcquireRequest sent = request;
        Edge.ask(() -> wiring.store().acquire(sent)).whenComplete((reply, error) -> {
            AcquireReply answer = reply != null ? reply : broken(error);
            on(new AcquireMachine.Replied(answer, wiring.random()));
        });
    }

    private AcquireReply broken(@Nullable Throwable error) {
        String message = "acquiring \"" + name + "\" at " + wiring.store().description() + " failed: " + error;
        return new AcquireReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException(message, error), 0);
    }

    private synchronized void arm(long atNanos) {
        if (machine.isOver()) {
            return;
        }
        cancelTimer();
        timer = wiring.timeline().scheduleAt(atNanos, () -> on(new AcquireMachine.TimerFired()));
    }

    private synchronized void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    private void undo(long ballot) {
        OwnerToken ended;
        synchronized (this) {
            ended = owner;
        }
        wiring.undoer()
                .end(
                        new ReleaseRequest(
                                List.of(name), ended, ballot, ReleaseRequest.Kind.UNDO, timings.answerNanos()),
                        timings.undoNanos());
    }

    private void finish(AcquireMachine.Outcome outcome) {
        Duration waited = waited();
        if (outcome instanceof AcquireMachine.Acquired acquired) {
            acquired(acquired.grant(), waited);
        } else if (outcome instanceof AcquireMachine.Busy busy) {
            tell(maxWaitNanos == 0 ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT, waited);
            Holder holder = busy.holder() != null ? busy.holder() : desks.localHolder(name);
            result.complete(new Attempt.Busy<>(name, waited, holder, busy.votes()));
        } else if (outcome instanceof AcquireMachine.Failed failed) {
            boolean ambiguous = failed.error() instanceof AmbiguousAcquireException;
            tell(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR, waited);
            result.completeExceptionally(failed.error());
        } else {
            tell(AttemptOutcome.INTERRUPTED, waited);
            result.completeExceptionally(abandoned());
        }
    }

    private RuntimeException abandoned() {
        synchronized (this) {
            return closing
                    ? new IllegalStateException("lock client is closed; the attempt on \"" + name + "\" was withdrawn")
                    : new CancellationException("the attempt on \"" + name + "\" was withdrawn");
        }
    }

    private void acquired(Grant grant, Duration waited) {
        GrantKeeper keeper = new GrantKeeper(name, grant, settings, wiring, desks);
        desks.granted(name, keeper, grant.tokens().last());
        LeaseHandle lease = keeper.begin();
        tell(AttemptOutcome.ACQUIRED, waited);
        result.complete(new Attempt.Acquired<>(lease));
    }

    private Duration waited() {
        return Duration.ofNanos(wiring.runtime().nanoTime() - startAtNanos);
    }

    private void tell(AttemptOutcome outcome, Duration waited) {
        wiring.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(name, outcome, waited)));
    }
}
