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
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One caller's attempt to acquire a lock: performs the actions of its {@link AcquireMachine}, and holds the result.
 *
 * <p>The machine and the fields that change are guarded by {@code this}. Each action is bound to its owner token, and
 * the timer is armed, under the same guard as the decision, so that concurrent events cannot reorder them; calls to other
 * classes are made without it.
 */
final class AcquireAttempt implements PendingAttempt<Lease>, LocalQueues.Contender {

    /** The delay after a check that failed before it sent anything. */
    private static final long LOOK_AGAIN_NANOS = 100_000_000;

    private final LockName name;
    private final WaitSettings settings;
    private final Timings timings;
    private final WaitPolicy policy;
    private final long maxWaitNanos;
    private final long startAtNanos;
    private final EngineContext context;
    private final LocalQueues queues;
    private final AcquireMachine machine;
    private final CompletableFuture<Attempt<Lease>> result = new CompletableFuture<>();

    private final FlightEvents.@Nullable Wait recording;
    /** The stack of the caller, if that is recorded. */
    private final @Nullable Throwable asked;

    private OwnerToken owner;
    /** The owner token has ended: the next request draws another. */
    private boolean ownerEnded;
    /** The mark of the {@link SuspendWatch} before the last request was sent. */
    private long mark;

    private LockRuntime.@Nullable Timer timer;
    private boolean closing;
    /** Listeners have heard of its end. Only the thread that delivers the outcome uses it. */
    private boolean endTold;
    /** The undos that are under way. */
    private CompletableFuture<?> undone = CompletableFuture.completedFuture(null);
    /** Nothing of this attempt is in flight, and all undos are answered. */
    private final CompletableFuture<Void> settled = new CompletableFuture<>();

    AcquireAttempt(
            LockName name,
            WaitSettings settings,
            long maxWaitNanos,
            EngineContext context,
            LocalQueues queues,
            @Nullable Throwable asked) {
        this.name = name;
        this.asked = asked;
        this.settings = settings;
        this.timings = settings.timings();
        this.policy = settings.policy();
        this.maxWaitNanos = maxWaitNanos;
        this.context = context;
        this.queues = queues;
        this.startAtNanos = context.runtime().nanoTime();
        this.owner = OwnerToken.draw(context.runtime());
        String what = "lock \"" + name + "\" at " + context.store().description();
        boolean ofNodes = context.store().isOfNodes();
        this.machine = new AcquireMachine(what, timings, policy, maxWaitNanos, ofNodes, startAtNanos);
        this.recording = FlightEvents.waitBegun();
        context.events().tell(l -> l.attemptBegan(new LockListener.AttemptBegan(name)));
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public CompletableFuture<Attempt<Lease>> result() {
        return result;
    }

    @Override
    public void enqueued() {
        on(maxWaitNanos == 0 ? new AcquireMachine.TimerFired() : new AcquireMachine.Enqueued());
    }

    @Override
    public void start() {
        on(new AcquireMachine.Started());
    }

    @Override
    public AcquireMachine.Offer handOver(ActiveLease lease) {
        AcquireMachine.Offer answer;
        synchronized (this) {
            answer = machine.offered();
            if (answer == AcquireMachine.Offer.ACCEPTED) {
                cancelTimer();
            }
        }
        if (answer == AcquireMachine.Offer.ACCEPTED) {
            Futures.guarded("leaving the queue", this::leave);
            Futures.guarded("the news of an attempt", () -> tell(AttemptOutcome.ACQUIRED, waited()));
            try {
                result.complete(new Attempt.Acquired<>(new LeaseHandle(lease, context.leaks(), asked)));
            } catch (RuntimeException | Error e) {
                // No caller has the lease: the next in the queue may have it.
                result.completeExceptionally(e);
                return AcquireMachine.Offer.GONE;
            }
        }
        return answer;
    }

    @Override
    public void woken() {
        on(new AcquireMachine.Woken());
    }

    @Override
    public void handedOver(HandOver handOver) {
        synchronized (this) {
            if (!owner.attemptId().equals(handOver.attemptId())) {
                return;
            }
        }
        on(new AcquireMachine.HandedOver(handOver.tokens().last()));
    }

    @Override
    public CompletableFuture<?> giveUp() {
        on(new AcquireMachine.GaveUp());
        CompletableFuture<Void> nothingLeft = new CompletableFuture<>();
        result.whenComplete((attempt, error) -> {
            CompletableFuture<?> last = attempt instanceof Attempt.Acquired<Lease> acquired
                    ? UnseenHold.giveBack(acquired.lease())
                    : settled;
            last.whenComplete((end, failure) -> nothingLeft.complete(null));
        });
        return nothingLeft;
    }

    @Override
    public long undoPatienceNanos() {
        return settings.options().nodeTimeout().toNanos();
    }

    @Override
    public void clientClosing() {
        synchronized (this) {
            closing = true;
        }
        on(new AcquireMachine.GaveUp());
    }

    private void on(AcquireMachine.Event event) {
        List<Runnable> steps = new ArrayList<>(2);
        boolean over;
        synchronized (this) {
            boolean wasOver = machine.isOver();
            for (AcquireMachine.Action action :
                    machine.on(event, context.runtime().nanoTime())) {
                prepare(action, steps);
            }
            over = machine.isOver() && !wasOver;
            if (over) {
                cancelTimer();
            }
        }
        // Each step, even if the one before has failed: it delivers the result, ends an owner token or leaves the
        // queue.
        steps.forEach(step -> Futures.guarded("a step of an attempt", step));
        if (over) {
            leave();
        }
    }

    /** Leaves the queue for good: a caller that withdraws the attempt now waits for its undos at most. */
    private void leave() {
        try {
            queues.leave(this);
        } finally {
            undone().whenComplete((nothing, error) -> settled.complete(null));
        }
    }

    private synchronized CompletableFuture<?> undone() {
        return undone;
    }

    /** Called under the guard. */
    private void prepare(AcquireMachine.Action action, List<Runnable> steps) {
        if (action instanceof AcquireMachine.Send send) {
            prepare(send, steps);
        } else if (action instanceof AcquireMachine.Arm arm) {
            arm(arm.atNanos());
        } else if (action instanceof AcquireMachine.Undo undo) {
            OwnerToken ended = owner;
            steps.add(() -> undo(ended, undo.ballot()));
        } else if (action instanceof AcquireMachine.Finish finish) {
            steps.add(() -> finishOrFail(finish.outcome()));
        }
    }

    /** A failure before anything was sent counts as an answer, since the machine waits for one. */
    private void prepare(AcquireMachine.Send send, List<Runnable> steps) {
        ownerEnded |= send.freshOwner();
        try {
            if (ownerEnded) {
                owner = OwnerToken.draw(context.runtime());
                ownerEnded = false;
            }
            OwnerToken sender = owner;
            mark = context.suspensions().mark();
            steps.add(() -> send(sender, send.ballotSoFar()));
        } catch (RuntimeException | Error e) {
            AcquireReply failed = new AcquireReply.Failed(FailureKind.NO_EFFECT, failure(e), 0);
            steps.add(() -> on(new AcquireMachine.Replied(failed, context.random())));
        }
    }

    private void send(OwnerToken sender, long ballotSoFar) {
        Futures.ask(() -> context.store().acquire(request(sender, ballotSoFar)))
                .whenComplete((reply, error) ->
                        Futures.guarded("an answered attempt", () -> answered(reply != null ? reply : broken(error))));
    }

    private void answered(AcquireReply answer) {
        try {
            on(new AcquireMachine.Replied(answer, context.random()));
        } catch (RuntimeException | Error e) {
            // The machine waits for an answer: one that cannot be processed has an unknown outcome, and the request is
            // repeated.
            on(new AcquireMachine.Replied(
                    new AcquireReply.Failed(FailureKind.UNKNOWN, failure(e), answer.ballot()), context.random()));
        }
    }

    private AcquireRequest request(OwnerToken sender, long ballotSoFar) {
        AcquireRequest request = context.request(List.of(name), sender, settings)
                .reserve(queues.reserve(name))
                .seenToken(queues.seenToken(name))
                .ballotSoFar(ballotSoFar);
        return maxWaitNanos > 0 ? request.waiting(policy.silenceNanos()).claiming(timings.claimNanos()) : request;
    }

    private AcquireReply broken(@Nullable Throwable error) {
        return new AcquireReply.Failed(FailureKind.UNKNOWN, failure(error), 0);
    }

    private StoreUnavailableException failure(@Nullable Throwable error) {
        String message = "acquiring \"" + name + "\" at " + context.store().description() + " failed: " + error;
        return new StoreUnavailableException(message, error);
    }

    private void arm(long atNanos) {
        if (machine.isOver()) {
            return;
        }
        cancelTimer();
        timer = context.timeline().scheduleAt(atNanos, this::timerFired);
    }

    /** This check arms the next one, so a failed check is repeated. */
    private void timerFired() {
        try {
            on(new AcquireMachine.TimerFired());
        } catch (RuntimeException | Error e) {
            synchronized (this) {
                if (!machine.isOver()) {
                    cancelTimer();
                    timer = context.timeline().schedule(LOOK_AGAIN_NANOS, this::timerFired);
                }
            }
            throw e;
        }
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel();
            timer = null;
        }
    }

    private void undo(OwnerToken ended, long ballot) {
        CompletableFuture<Void> over = context.retrier()
                .end(List.of(name), ended, ballot, ReleaseRequest.Kind.UNDO, timings)
                .over();
        synchronized (this) {
            undone = CompletableFuture.allOf(undone, over);
        }
    }

    private void finishOrFail(AcquireMachine.Outcome outcome) {
        try {
            finish(outcome);
        } catch (RuntimeException | Error e) {
            if (!endTold) {
                Futures.guarded("the news of an attempt", () -> tell(AttemptOutcome.ERROR, waited()));
            }
            result.completeExceptionally(e);
            throw e;
        }
    }

    private void finish(AcquireMachine.Outcome outcome) {
        if (outcome instanceof AcquireMachine.Acquired acquired) {
            acquired(acquired);
            return;
        }
        Duration waited = waited();
        if (outcome instanceof AcquireMachine.Busy busy) {
            tell(maxWaitNanos == 0 ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT, waited);
            Holder holder = busy.holder() != null ? busy.holder() : queues.localHolder(name);
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

    private void acquired(AcquireMachine.Acquired acquired) {
        Grant grant = acquired.grant();
        long sentMark;
        synchronized (this) {
            sentMark = mark;
        }
        HeldGrant held;
        try {
            held = new HeldGrant(name, grant, acquired.ballot(), settings, context, queues);
        } catch (RuntimeException | Error e) {
            undo(grant.owner(), acquired.ballot());
            throw e;
        }
        LeaseHandle lease = held.begin(sentMark, asked);
        Futures.guarded("the news of an attempt", () -> tell(AttemptOutcome.ACQUIRED, waited()));
        result.complete(new Attempt.Acquired<>(lease));
    }

    private Duration waited() {
        return Duration.ofNanos(context.runtime().nanoTime() - startAtNanos);
    }

    private void tell(AttemptOutcome outcome, Duration waited) {
        endTold = true;
        if (recording != null) {
            recording.ended(name, outcome, context.store().description());
        }
        context.events().tell(l -> l.attemptEnded(new LockListener.AttemptEnded(name, outcome, waited)));
    }
}
