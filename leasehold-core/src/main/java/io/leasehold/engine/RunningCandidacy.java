package io.leasehold.engine;

import static java.util.Objects.requireNonNull;

import io.leasehold.Candidacy;
import io.leasehold.Guarantee;
import io.leasehold.HandOverOutcome;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.engine.CandidacyMachine.Action;
import io.leasehold.engine.CandidacyMachine.Event;
import io.leasehold.engine.CandidacyMachine.Phase;
import io.leasehold.spi.LockRuntime;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A candidacy: performs the decisions of its {@link CandidacyMachine}, and passes on the requests of the caller.
 *
 * <p>{@code this} guards the machine and the fields that change; calls to other classes are made without the guard. An
 * event of a term names the term, so that a late event of an earlier term has no effect.
 */
final class RunningCandidacy implements Candidacy {

    private final LockName name;
    private final WaitSettings settings;
    private final Attempts attempts;
    private final EngineContext context;
    private final RunningTerm.Callback callback;
    /** Completes when the candidacy has ended, on any thread; exceptionally if the store never accepts it. */
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    /** Completes with the end of the candidacy, however it ended. */
    private final CompletableFuture<Void> finished = ended.handle((done, error) -> null);
    /** Completes with the end of the candidacy; callers cannot complete it. */
    private final CompletionStage<Void> end = ended.minimalCompletionStage();

    private CandidacyMachine machine = CandidacyMachine.standing();
    private @Nullable PendingAttempt<Lease> pending;
    /** The current term, or the last one. */
    private @Nullable RunningTerm term;

    private LockRuntime.@Nullable Timer timer;
    /** Why the candidacy ended, unless it was closed. */
    private volatile @Nullable Throwable failure;
    /** Whether an outage was logged, and no attempt was answered since. */
    private boolean outage;

    RunningCandidacy(LockName name, WaitSettings settings, Attempts attempts, RunningTerm.Callback callback) {
        this.name = name;
        this.settings = settings;
        this.attempts = attempts;
        this.context = attempts.context();
        this.callback = callback;
    }

    /** Begins the first attempt. If it is refused at once, the caller receives the failure. */
    RunningCandidacy begin() {
        enter();
        // This is the last part of the client's close: otherwise, a pause would outlast it. The client forgets it
        // together with the candidacy.
        CompletableFuture.anyOf(ended, attempts.closed()).whenComplete((done, error) -> clientClosed());
        return this;
    }

    private void clientClosed() {
        on(null, new Event.Close(false));
        // No timer runs any more: neither that of the grace, nor those that repeat the undo of an attempt.
        on(null, new Event.GraceOver());
        on(null, new Event.Withdrawn());
        if (isIn(Phase.ENDED)) {
            // The threads that were to report the end may be gone.
            tellEnded();
        }
    }

    // ---- events and actions

    /**
     * Processes an event of this term, which has no effect on a later term. If the term is null, the event applies to
     * the current term, whichever it is.
     */
    private void on(@Nullable RunningTerm about, Event event) {
        RunningTerm current;
        List<Action> actions;
        synchronized (this) {
            if (about != null && about != term) {
                return;
            }
            current = term;
            actions = decide(event);
        }
        perform(actions, current, event);
    }

    private synchronized List<Action> decide(Event event) {
        CandidacyMachine.Step step = machine.on(event);
        machine = step.next();
        return step.actions();
    }

    private synchronized boolean isIn(Phase phase) {
        return machine.phase() == phase;
    }

    private void perform(List<Action> actions, @Nullable RunningTerm about, Event cause) {
        for (Action action : actions) {
            Futures.guarded("a step of a candidacy", () -> perform(action, about, cause));
        }
    }

    private void perform(Action action, @Nullable RunningTerm about, Event cause) {
        switch (action) {
            case STAND -> stand();
            case WITHDRAW -> withdraw();
            case PAUSE -> arm(about, this::pauseNanos, new Event.PauseOver());
            case END -> end();
            case LEAD -> lead(requireNonNull(about));
            case TELL_END -> tellEnd(requireNonNull(about), cause);
            case ARM_GRACE -> arm(about, () -> graceNanos(requireNonNull(about)), new Event.GraceOver());
            case WARN -> ElectionMessages.callbackGoesOn(requireNonNull(about));
            case RELEASE -> release(requireNonNull(about));
        }
    }

    /** Arms the timer, unless its event has arrived in the meantime. */
    private void arm(@Nullable RunningTerm about, LongSupplier nanos, Event event) {
        LockRuntime.Timer armed =
                TimerQueue.duty(() -> context.timeline().schedule(nanos.getAsLong(), () -> on(about, event)));
        synchronized (this) {
            if (about == term && machine.awaits(event)) {
                TimerQueue.cancelled(timer);
                timer = armed;
                return;
            }
        }
        armed.cancel();
    }

    private synchronized void disarm() {
        timer = TimerQueue.cancelled(timer);
    }

    // ---- standing

    private void stand() {
        try {
            enter();
        } catch (RuntimeException | Error e) {
            failed(e, e instanceof UnsafeStoreException, false);
            // If the candidacy was closed in the meantime, nothing is left to withdraw.
            on(null, new Event.Withdrawn());
        }
    }

    private void enter() {
        AcquireAttempt begun = attempts.enter(name, settings, Long.MAX_VALUE);
        synchronized (this) {
            pending = begun;
        }
        begun.result().whenComplete((attempt, error) -> {
            if (error == null) {
                elected(attempt.orElseThrow());
            } else {
                failed(Futures.unwrapped(error), false, begun.hasStood());
            }
        });
        if (isIn(Phase.WITHDRAWING)) {
            withdraw();
        }
    }

    private void elected(Lease lease) {
        RunningTerm begun = new RunningTerm(lease, context.runtime(), callback);
        List<Action> actions;
        synchronized (this) {
            if (machine.phase() != Phase.STANDING) {
                // The withdrawal releases the lease.
                return;
            }
            pending = null;
            term = begun;
            outage = false;
            actions = decide(new Event.Elected());
        }
        perform(actions, begun, new Event.Elected());
    }

    /**
     * Processes the failure of an attempt.
     *
     * @param refused whether the store will never accept an attempt; any other cause may be repaired
     * @param stood whether the store has answered this attempt before: then this is another outage
     */
    private void failed(Throwable error, boolean refused, boolean stood) {
        boolean isNews;
        synchronized (this) {
            if (machine.phase() != Phase.STANDING) {
                return;
            }
            // A close from now on must not mistake it for the next attempt, which may be about to enter.
            pending = null;
            isNews = (stood || !outage) && !attempts.isClosing();
            outage = true;
            failure = refused ? error : null;
        }
        if (isNews) {
            Futures.guarded("a message", () -> ElectionMessages.cannotStand(name, refused, error));
        }
        on(null, new Event.AttemptFailed(refused || attempts.isClosing()));
    }

    private void withdraw() {
        PendingAttempt<Lease> left;
        synchronized (this) {
            left = pending;
            pending = null;
        }
        if (left != null) {
            left.giveUp().whenComplete((done, ignored) -> on(null, new Event.Withdrawn()));
        }
    }

    /**
     * Returns the pause. After a failure, it is the pause of a waiter after a failure. If other candidates come first,
     * it lasts until each of them has asked once.
     */
    private long pauseNanos() {
        int failures;
        synchronized (this) {
            failures = machine.failures();
        }
        return failures == 0
                ? settings.policy().silenceNanos()
                : settings.policy().retryNanos(failures - 1, context.random());
    }

    // ---- a term

    private void lead(RunningTerm begun) {
        begun.lease().onLost(cause -> on(begun, new Event.Lost()));
        attempts.workers()
                .execute(() -> begun.run(error -> returned(begun, error)), refused -> returned(begun, refused));
    }

    private void returned(RunningTerm over, @Nullable Throwable error) {
        // If a callback throws after it was notified of the end, the exception is how it stops.
        boolean failed = error != null && !over.wasTold();
        over.over();
        if (error != null && failed) {
            Futures.guarded("a message", () -> ElectionMessages.leaderFailed(over, Futures.unwrapped(error)));
        }
        on(over, new Event.Returned(failed));
    }

    /**
     * Reports the end. A loss that another event overtakes is still reported as a loss: its callbacks receive it
     * directly.
     */
    private void tellEnd(RunningTerm over, Event event) {
        LossCause loss = over.cause();
        if (loss == null && event instanceof Event.Lost) {
            loss = LossCause.EXPIRED;
        }
        over.tellEnd(loss == null ? new Term.End.Resigned() : new Term.End.Lost(loss));
        if (over.neverBegins()) {
            returned(over, null);
        }
    }

    /**
     * Returns the time for a callback to return: the rest of its validity. After a loss, no other candidate waits for
     * the term, and the callback is logged after a ttl. A term that is in doubt shows no validity, and has at most a
     * full one.
     */
    private long graceNanos(RunningTerm over) {
        long leftNanos = Timings.saturatedNanos(over.lease().remainingValidity());
        return leftNanos > 0 ? leftNanos : settings.timings().ttlNanos();
    }

    private void release(RunningTerm over) {
        disarm();
        String successor = over.beginRelease();
        if (successor == null) {
            giveBack(over);
            return;
        }
        ActiveLease lease = LeaseHandle.of(over.lease()).state();
        CompletableFuture<Boolean> named = Futures.ask(() -> SuccessorNaming.begin(lease, successor));
        // Once the client is closed, no timer repeats the request.
        CompletableFuture.anyOf(named, attempts.closed()).whenComplete((isFirst, error) -> {
            if (Boolean.TRUE.equals(isFirst)) {
                over.successorIsFirst();
                lease.keepForOthers();
            }
            giveBack(over);
        });
    }

    private void giveBack(RunningTerm over) {
        Futures.ask(LeaseHandle.of(over.lease())::give).whenComplete((answer, error) -> {
            over.outcome().complete(error == null ? answer : ReleaseOutcome.UNCONFIRMED);
            on(over, new Event.Released(context.store().guarantees().queueing() == Guarantee.Queueing.FIFO));
        });
    }

    // ---- the end

    private void end() {
        disarm();
        if (attempts.closed().isDone()) {
            tellEnded();
        } else {
            Futures.execute(context.runtime(), this::tellEnded);
        }
    }

    private void tellEnded() {
        Throwable why = failure;
        if (why == null) {
            ended.complete(null);
        } else {
            ended.completeExceptionally(why);
        }
    }

    // ---- for the caller

    @Override
    public LockName election() {
        return name;
    }

    /** The current term, or the last one. */
    private synchronized @Nullable RunningTerm last() {
        return term;
    }

    /** The term that has not ended completely. */
    private synchronized @Nullable RunningTerm led() {
        return machine.phase() == Phase.LEADING ? term : null;
    }

    @Override
    public Optional<Term> term() {
        RunningTerm led = led();
        return led != null && led.isUnderWay() && led.cause() == null ? Optional.of(led) : Optional.empty();
    }

    @Override
    public ReleaseOutcome resign() {
        return Futures.join(context.runtime(), givenBack(last(), null));
    }

    @Override
    public CompletableFuture<ReleaseOutcome> resignAsync() {
        return Futures.onCallbackExecutor(context.runtime(), givenBack(last(), null));
    }

    @Override
    public HandOverOutcome handOver(String candidate) {
        return Futures.join(context.runtime(), handedOver(requireNonNull(candidate, "candidate")));
    }

    @Override
    public CompletableFuture<HandOverOutcome> handOverAsync(String candidate) {
        requireNonNull(candidate, "candidate");
        return Futures.onCallbackExecutor(context.runtime(), Futures.ask(() -> handedOver(candidate)));
    }

    private CompletableFuture<HandOverOutcome> handedOver(String candidate) {
        SuccessorNaming.require(name, context.store());
        if (candidate.equals(context.holderId())) {
            throw new IllegalArgumentException("cannot hand the election \"" + name + "\" over to \"" + candidate
                    + "\": that is the client of the leader itself. Resign, and the other candidates come first. The"
                    + " candidate still leads.");
        }
        RunningTerm last = last();
        return givenBack(last, candidate).thenApply(outcome -> switch (outcome) {
            case ALREADY_LOST -> HandOverOutcome.ALREADY_LOST;
            case UNCONFIRMED -> HandOverOutcome.UNCONFIRMED;
            default ->
                last != null && last.hasFirst(candidate) ? HandOverOutcome.HANDED_OVER : HandOverOutcome.RELEASED;
        });
    }

    /** Ends the term, if it is still the current one, for the named successor, if there is one. */
    private CompletableFuture<ReleaseOutcome> givenBack(@Nullable RunningTerm last, @Nullable String successor) {
        CompletableFuture<ReleaseOutcome> lost = CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
        if (last != null && last == led()) {
            if (successor != null) {
                last.nameSuccessor(successor);
            }
            on(last, new Event.Resign(isCallback(last)));
            return last.cause() == null ? last.outcome() : lost;
        }
        return last != null && last.outcome().getNow(ReleaseOutcome.ALREADY_LOST) == ReleaseOutcome.UNCONFIRMED
                ? isGone(last)
                : lost;
    }

    /**
     * Whether a term whose release was not answered has ended in the meantime: the store then reports a lock with a
     * larger token, or none.
     */
    private CompletableFuture<ReleaseOutcome> isGone(RunningTerm former) {
        return Futures.ask(() -> context.store().admin().describe(name))
                .thenApply(record -> record.map(HeldLock::holder)
                        .filter(holder -> holder.id().equals(context.holderId()))
                        .filter(holder -> holder.fencingToken().orElse(0) <= former.fencingToken())
                        .map(still -> ReleaseOutcome.UNCONFIRMED)
                        .orElse(ReleaseOutcome.RELEASED));
    }

    private static boolean isCallback(@Nullable RunningTerm current) {
        return current != null && current.runsOn(Thread.currentThread());
    }

    @Override
    public void close() {
        boolean byCallback = isCallback(last());
        Event close = new Event.Close(byCallback);
        RunningTerm current;
        RunningTerm led;
        List<Action> actions;
        synchronized (this) {
            current = term;
            // At once with the event: the candidate may be elected at any time before.
            led = led();
            actions = decide(close);
        }
        // Before the actions: a lease that is being released has no validity left.
        long graceNanos = led == null ? 0 : graceNanos(led);
        perform(actions, current, close);
        if (!byCallback) {
            // Once the client is closed, no timer runs.
            Futures.joinAtMost(
                    context.runtime(),
                    CompletableFuture.anyOf(finished, attempts.closed()),
                    graceNanos + settings.timings().answerNanos());
        }
    }

    @Override
    public CompletableFuture<Void> closeAsync() {
        on(null, new Event.Close(isCallback(last())));
        return finished.copy();
    }

    @Override
    public CompletionStage<Void> whenEnded() {
        return end;
    }

    @Override
    public String toString() {
        return "Candidacy[" + name + " at " + context.store().description() + "]";
    }
}
