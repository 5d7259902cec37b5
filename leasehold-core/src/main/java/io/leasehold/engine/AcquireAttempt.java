package io.leasehold.engine;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Holder;
import io.leasehold.Lease;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.TokenRange;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One caller's attempt to acquire a lock: performs the actions of its {@link AcquireMachine}, and holds the result.
 *
 * <p>{@code this} guards the machine and the fields that change. Each action is bound to its owner token, and the timer
 * is armed, under the same guard as the decision, so that concurrent events cannot reorder them. Calls to other classes
 * are made without the guard.
 */
final class AcquireAttempt extends PendingAttempt<Lease> implements LocalQueues.Contender {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final LockName name;
    private final long maxWaitNanos;
    private final LocalQueues queues;
    private final AcquireMachine machine;
    /** Receives the outcome before the caller does, once. */
    private final Consumer<AttemptOutcome> news;

    private final AttemptPart part;

    private OwnerToken owner;
    /** Whether the owner token has ended; the next request then draws a new one. */
    private boolean ownerEnded;
    /** The mark of the {@link SuspendWatch}, taken before the last request was sent. */
    private long mark;

    private LockRuntime.@Nullable Timer timer;
    private boolean closing;
    /** The slots of the permits that were granted. */
    private List<Integer> slots = List.of();
    /** Whether the attempt has left the queue. Only the thread that delivers the outcome uses this field. */
    private boolean outOfQueue;
    /** The undos that are in progress. */
    private CompletableFuture<?> undone = CompletableFuture.completedFuture(null);
    /** Completes when nothing of this attempt is in flight and all undos are answered. */
    private final CompletableFuture<Void> settled = new CompletableFuture<>();

    AcquireAttempt(
            LockName name,
            WaitSettings settings,
            long maxWaitNanos,
            EngineContext context,
            LocalQueues queues,
            @Nullable Throwable asked) {
        this(name, settings, maxWaitNanos, context, queues, asked, AttemptPart.WHOLE);
    }

    /** Creates the attempt of readers that share its grant, or one of an attempt on several permits. */
    AcquireAttempt(
            LockName name,
            WaitSettings settings,
            long maxWaitNanos,
            EngineContext context,
            LocalQueues queues,
            @Nullable Throwable asked,
            AttemptPart part) {
        super(settings, context, asked);
        this.name = name;
        this.maxWaitNanos = maxWaitNanos;
        this.queues = queues;
        this.owner = OwnerToken.draw(context.runtime());
        String what = "lock \"" + name + "\" at " + context.store().description();
        boolean ofNodes = context.store().isOfNodes();
        this.machine =
                new AcquireMachine(what, settings.timings(), settings.policy(), maxWaitNanos, ofNodes, startAtNanos);
        this.part = part;
        this.news = part.news() == null ? new AttemptNews(name, context, startAtNanos)::ended : part.news();
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    /** Returns the slots of the permits that were granted; read them once the result is available. */
    synchronized List<Integer> slots() {
        return slots;
    }

    @Override
    public boolean startsAtOnce() {
        return maxWaitNanos == 0 && LocalQueues.isShared(name);
    }

    @Override
    public AcquireMachine.Offer handOver(ActiveLease lease) {
        AcquireMachine.Offer answer;
        synchronized (this) {
            answer = machine.offered();
        }
        if (answer == AcquireMachine.Offer.ACCEPTED) {
            Futures.guarded("leaving the queue", this::leave);
            try {
                LeaseHandle handle = new LeaseHandle(lease, context.leaks(), asked);
                deliver(AttemptOutcome.ACQUIRED, new Attempt.Acquired<>(handle));
            } catch (RuntimeException | Error e) {
                // No caller has the lease: offer it to the next attempt in the queue.
                fail(AttemptOutcome.ERROR, e);
                return AcquireMachine.Offer.GONE;
            }
        }
        return answer;
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
    public boolean claimed(Claim claim) {
        synchronized (this) {
            if (context.suspensions().wasSuspendedSince(mark)) {
                // Such a lease would begin unconfirmed. The answer to a new request confirms it.
                return false;
            }
        }
        return decided(new AcquireMachine.Claimed(claim), claim.grant().owner());
    }

    @Override
    CompletableFuture<?> giveUp() {
        withdraw();
        return result.<CompletableFuture<?>>handle(
                        (attempt, error) -> attempt instanceof Attempt.Acquired<Lease> acquired
                                ? UnseenHold.giveBack(acquired.lease())
                                : settled)
                .thenCompose(last -> last.handle((end, failure) -> failure));
    }

    /** Withdraws the attempt. Once its caller is gone, nothing else does so, so a failed step is repeated. */
    private void withdraw() {
        try {
            on(new AcquireMachine.GaveUp());
        } catch (RuntimeException | Error e) {
            context.timeline().schedule(TimerQueue.CHECK_AGAIN_NANOS, this::withdraw);
            LOG.error("lock \"{}\": the withdrawal of an attempt failed; it is repeated", name, e);
        }
    }

    @Override
    public void clientClosing() {
        synchronized (this) {
            closing = true;
        }
        on(new AcquireMachine.GaveUp());
    }

    @Override
    public void on(AcquireMachine.Event event) {
        decided(event, null);
    }

    /**
     * Processes an event, and returns whether it has led to an action.
     *
     * @param of the owner token that the event concerns, if it concerns one: an event of another attempt, or of an
     *     owner token that has ended, is ignored
     */
    private boolean decided(AcquireMachine.Event event, @Nullable OwnerToken of) {
        List<Runnable> steps = new ArrayList<>(2);
        boolean over;
        synchronized (this) {
            if (of != null && !of.equals(owner)) {
                return false;
            }
            boolean wasOver = machine.isOver();
            for (AcquireMachine.Action action :
                    machine.on(event, context.runtime().nanoTime())) {
                prepare(action, steps);
            }
            over = machine.isOver() && !wasOver;
        }
        // Run each step even if the one before has failed: a step delivers the result, ends an owner token or leaves
        // the queue.
        steps.forEach(step -> Futures.guarded("a step of an attempt", step));
        if (over) {
            leave();
        }
        return !steps.isEmpty();
    }

    /**
     * Lets the next attempt in the queue begin. From now on, a caller that withdraws this attempt waits for its undos
     * only.
     */
    private void leave() {
        CompletableFuture<?> undos;
        synchronized (this) {
            timer = TimerQueue.cancelled(timer);
            undos = undone;
        }
        try {
            leaveQueue();
            queues.settle(name);
        } finally {
            undos.whenComplete((nothing, error) -> settled.complete(null));
        }
    }

    /** Prepares the steps of an action; called under the guard. */
    private void prepare(AcquireMachine.Action action, List<Runnable> steps) {
        if (action instanceof AcquireMachine.Send send) {
            prepare(send, steps);
        } else if (action instanceof AcquireMachine.Arm arm) {
            arm(arm.atNanos());
        } else if (action instanceof AcquireMachine.Undo undo) {
            OwnerToken ended = owner;
            steps.add(() -> undo(ended, undo.ballot()));
        } else if (action instanceof AcquireMachine.Finish finish) {
            steps.add(() -> finish(finish.outcome()));
        }
    }

    /** Prepares a request. The machine waits for an answer, so a failure before anything was sent counts as one. */
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
            AcquireReply failed = failed(FailureKind.NO_EFFECT, e, 0);
            steps.add(() -> on(new AcquireMachine.Replied(failed, context.random())));
        }
    }

    private void send(OwnerToken sender, long ballotSoFar) {
        Futures.ask(() -> context.store().acquire(request(sender, ballotSoFar)))
                .whenComplete((reply, error) -> Futures.guarded(
                        "an answered attempt",
                        () -> answered(reply != null ? reply : failed(FailureKind.UNKNOWN, error, 0))));
    }

    private void answered(AcquireReply answer) {
        try {
            on(new AcquireMachine.Replied(answer, context.random()));
        } catch (RuntimeException | Error e) {
            // The machine waits for an answer. The outcome of one that cannot be processed is unknown, and the request
            // is repeated.
            AcquireReply unknown = failed(FailureKind.UNKNOWN, e, answer.ballot());
            on(new AcquireMachine.Replied(unknown, context.random()));
        } finally {
            part.afterAnswer().run();
        }
    }

    /** Whether the attempt waits for its turn in this process, and has sent nothing. */
    synchronized boolean isLocal() {
        return machine.isLocal();
    }

    /** Whether the store has ever answered that the attempt waits, or that another holder has the lock. */
    synchronized boolean hasStood() {
        return machine.hasStood();
    }

    /** Returns the outcome that the attempt would have if its patience ended now. */
    synchronized AcquireMachine.Outcome outcomeSoFar() {
        return machine.atDeadline();
    }

    private AcquireRequest request(OwnerToken sender, long ballotSoFar) {
        AcquireRequest request = context.request(List.of(name), sender, settings)
                .reserve(Math.max(part.permits(), queues.reserve(name)))
                .seenToken(queues.seenToken(name))
                .ballotSoFar(ballotSoFar);
        if (maxWaitNanos == 0) {
            return part.repeated() ? request.patient() : request;
        }
        return request.waiting(settings.policy().silenceNanos())
                .claiming(settings.timings().claimNanos())
                .provenWithin(settings.timings().provenWithinNanos());
    }

    private AcquireReply failed(FailureKind kind, @Nullable Throwable error, long ballot) {
        String message = "acquiring \"" + name + "\" at " + context.store().description() + " failed: " + error;
        return new AcquireReply.Failed(kind, new StoreUnavailableException(message, error), ballot);
    }

    private synchronized void arm(long atNanos) {
        if (!machine.isOver()) {
            TimerQueue.cancelled(timer);
            timer = context.timeline().scheduleAt(atNanos, this::timerFired);
        }
    }

    /** Runs the check. The check arms the next one, so a failed check is repeated. */
    private void timerFired() {
        try {
            on(new AcquireMachine.TimerFired());
        } catch (RuntimeException | Error e) {
            arm(context.runtime().nanoTime() + TimerQueue.CHECK_AGAIN_NANOS);
            throw e;
        }
    }

    private void undo(OwnerToken ended, long ballot) {
        CompletableFuture<Void> over = context.retrier()
                .end(List.of(name), ended, ballot, ReleaseRequest.Kind.UNDO, settings.timings())
                .over();
        synchronized (this) {
            undone = CompletableFuture.allOf(undone, over);
        }
    }

    private void finish(AcquireMachine.Outcome outcome) {
        try {
            if (outcome instanceof AcquireMachine.Acquired acquired) {
                deliver(AttemptOutcome.ACQUIRED, new Attempt.Acquired<>(begun(acquired)));
            } else if (outcome instanceof AcquireMachine.Busy busy) {
                Holder holder = busy.holder() != null ? busy.holder() : queues.localHolder(name);
                AttemptOutcome news = maxWaitNanos == 0 ? AttemptOutcome.BUSY : AttemptOutcome.TIMEOUT;
                deliver(news, new Attempt.Busy<>(name, waited(), holder, busy.votes()));
            } else if (outcome instanceof AcquireMachine.Failed failed) {
                boolean ambiguous = failed.error() instanceof AmbiguousAcquireException;
                fail(ambiguous ? AttemptOutcome.AMBIGUOUS : AttemptOutcome.ERROR, failed.error());
            } else {
                fail(AttemptOutcome.INTERRUPTED, abandoned());
            }
        } catch (RuntimeException | Error e) {
            fail(AttemptOutcome.ERROR, e);
            throw e;
        }
    }

    private synchronized RuntimeException abandoned() {
        return withdrawn("\"" + name + "\"", closing);
    }

    private LeaseHandle begun(AcquireMachine.Acquired acquired) {
        Grant grant = acquired.grant();
        long sentMark;
        synchronized (this) {
            sentMark = mark;
            slots = grant.slots();
        }
        HeldGrant held;
        try {
            held = new HeldGrant(
                    name, ofOneToken(grant), acquired.claimNanos(), acquired.ballot(), settings, context, queues);
        } catch (RuntimeException | Error e) {
            undo(grant.owner(), acquired.ballot());
            throw e;
        }
        if (part.quiet()) {
            held.currentLease().quiet();
        }
        return held.begin(sentMark, asked);
    }

    /** The tokens of several permits are for their slots: the grant has no further leases. */
    private static Grant ofOneToken(Grant grant) {
        return grant.slots().size() <= 1
                ? grant
                : new Grant(
                        grant.owner(),
                        TokenRange.of(grant.tokens().first(), 1),
                        grant.sentAtNanos(),
                        grant.incarnation(),
                        grant.slots());
    }

    private void deliver(AttemptOutcome news, Attempt<Lease> attempt) {
        leaveQueueIfOver();
        this.news.accept(news);
        result.complete(attempt);
    }

    private void fail(AttemptOutcome news, Throwable error) {
        leaveQueueIfOver();
        this.news.accept(news);
        result.completeExceptionally(error);
    }

    /**
     * Leaves the queue before the caller is notified, unless a request is still in flight: a caller that retries at
     * once must not meet this attempt in the queue.
     */
    private void leaveQueueIfOver() {
        boolean isOver;
        synchronized (this) {
            isOver = machine.isOver();
        }
        if (isOver) {
            leaveQueue();
        }
    }

    private void leaveQueue() {
        if (!outOfQueue) {
            Futures.guarded("leaving the queue", () -> {
                queues.remove(this);
                outOfQueue = true;
            });
        }
    }
}
