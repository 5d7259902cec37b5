package io.leasehold.engine;

import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.CandidacyMachine.Event;
import io.leasehold.engine.CandidacyMachine.Phase;
import io.leasehold.spi.LockRuntime;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A candidacy: performs what its {@link CandidacyMachine} decides.
 *
 * <p>The machine and the fields that change are guarded by {@code this}; calls to other classes are made without it. An event of a
 * term names it, so that a late one of an earlier term has no effect.
 */
final class RunningCandidacy {

    private final LockName name;
    private final WaitSettings settings;
    private final Attempts attempts;
    private final EngineContext context;
    private final RunningTerm.Callback callback;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    private CandidacyMachine machine = CandidacyMachine.standing();
    private @Nullable PendingAttempt<Lease> pending;
    /** The current term, or the last one. */
    private @Nullable RunningTerm term;
    /** How that term was given back; completes on any thread. */
    private CompletableFuture<ReleaseOutcome> outcome = CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);

    private LockRuntime.@Nullable Timer timer;
    /** Why it ended, unless it was closed. */
    private @Nullable Throwable failure;
    /** The last attempt has failed, and that was logged. */
    private boolean outage;

    RunningCandidacy(
            LockName name,
            WaitSettings settings,
            Attempts attempts,
            EngineContext context,
            RunningTerm.Callback callback) {
        this.name = name;
        this.settings = settings;
        this.attempts = attempts;
        this.context = context;
        this.callback = callback;
    }

    /** Begins the first attempt; if it is refused at once, the caller is told. */
    CandidacyHandle begin() {
        enter();
        // The last part of the client's close; a pause would otherwise outlast it. Forgotten by the client with the
        // candidacy.
        CompletableFuture.anyOf(ended, attempts.closed()).whenComplete((done, error) -> clientClosed());
        return new CandidacyHandle(this);
    }

    private void clientClosed() {
        on(new Event.Close(false));
        // No timer runs any more.
        on(new Event.GraceOver());
        boolean isOver;
        synchronized (this) {
            isOver = machine.phase() == Phase.ENDED;
        }
        if (isOver) {
            // The threads that were to tell it may be gone.
            tellEnded();
        }
    }

    // ---- events and actions

    /** An event of the candidacy, or of whatever term it is in. */
    void on(Event event) {
        RunningTerm current;
        CandidacyMachine.Step step;
        synchronized (this) {
            current = term;
            step = machine.on(event);
            machine = step.next();
        }
        perform(step, current, event);
    }

    /** An event of this term: it has no effect on a later one. */
    void on(RunningTerm about, Event event) {
        CandidacyMachine.Step step;
        synchronized (this) {
            if (about != term) {
                return;
            }
            step = machine.on(event);
            machine = step.next();
        }
        perform(step, about, event);
    }

    private void perform(CandidacyMachine.Step step, @Nullable RunningTerm about, Event cause) {
        for (CandidacyMachine.Action action : step.actions()) {
            Futures.guarded("a step of a candidacy", () -> perform(action, about, cause));
        }
    }

    private void perform(CandidacyMachine.Action action, @Nullable RunningTerm about, Event cause) {
        switch (action) {
            case STAND -> stand();
            case WITHDRAW -> withdraw();
            case PAUSE -> arm(pauseNanos(), new Event.PauseOver());
            case END -> end();
            case LEAD, TELL_END, ARM_GRACE, WARN, RELEASE -> {
                if (about != null) {
                    performIn(about, action, cause);
                }
            }
        }
    }

    private void performIn(RunningTerm about, CandidacyMachine.Action action, Event cause) {
        switch (action) {
            case LEAD -> lead(about);
            case TELL_END -> tellEnd(about, cause);
            case ARM_GRACE -> arm(graceNanos(about), new Event.GraceOver());
            case WARN -> ElectionMessages.callbackGoesOn(about);
            case RELEASE -> release(about);
            default -> throw new AssertionError(action + " is none of a term");
        }
    }

    /** Arms the timer, unless what it is for has come meanwhile. */
    private void arm(long nanos, Event event) {
        RunningTerm current;
        synchronized (this) {
            current = term;
        }
        LockRuntime.Timer armed = context.timeline().schedule(nanos, () -> timeIsUp(current, event));
        synchronized (this) {
            if (current == term && machine.awaits(event)) {
                TimerQueue.cancelled(timer);
                timer = armed;
                return;
            }
        }
        armed.cancel();
    }

    private void timeIsUp(@Nullable RunningTerm armedIn, Event event) {
        if (armedIn != null) {
            on(armedIn, event);
        } else {
            on(event);
        }
    }

    // ---- standing

    private void stand() {
        try {
            enter();
        } catch (RuntimeException | Error e) {
            failed(e, e instanceof UnsafeStoreException);
            // If it was closed meanwhile, nothing is left to withdraw.
            on(new Event.Withdrawn());
        }
    }

    private void enter() {
        PendingAttempt<Lease> begun = attempts.enter(name, settings, Long.MAX_VALUE);
        boolean isClosed;
        synchronized (this) {
            pending = begun;
            isClosed = machine.phase() == Phase.WITHDRAWING;
        }
        begun.result().whenComplete((attempt, error) -> {
            if (error == null) {
                elected(attempt.orElseThrow());
            } else {
                failed(Futures.unwrapped(error), false);
            }
        });
        if (isClosed) {
            withdraw();
        }
    }

    private void elected(Lease lease) {
        RunningTerm begun = new RunningTerm(lease, context);
        CandidacyMachine.Step step;
        synchronized (this) {
            if (machine.phase() != Phase.STANDING) {
                // Its withdrawal gives the lease back.
                return;
            }
            pending = null;
            term = begun;
            outcome = new CompletableFuture<>();
            outage = false;
            step = machine.on(new Event.Elected());
            machine = step.next();
        }
        perform(step, begun, new Event.Elected());
    }

    /** An attempt has failed; {@code refused} if the store will never accept one. Whatever else it says may be mended. */
    private void failed(Throwable error, boolean refused) {
        boolean forGood = refused || attempts.isClosing();
        boolean isNews;
        synchronized (this) {
            if (machine.phase() != Phase.STANDING) {
                return;
            }
            isNews = !outage && !attempts.isClosing();
            outage = true;
            failure = refused ? error : null;
        }
        if (isNews) {
            Futures.guarded("a message", () -> ElectionMessages.cannotStand(name, refused, error));
        }
        on(new Event.AttemptFailed(forGood));
    }

    private void withdraw() {
        PendingAttempt<Lease> left;
        synchronized (this) {
            left = pending;
            pending = null;
        }
        if (left != null) {
            left.giveUp().whenComplete((done, ignored) -> on(new Event.Withdrawn()));
        }
    }

    /** After a failure as a waiter after one; to let others come first, until each of them has asked once. */
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
                .execute(
                        () -> begun.run(callback, error -> returned(begun, error)),
                        refused -> returned(begun, refused));
    }

    private void returned(RunningTerm over, @Nullable Throwable error) {
        // What a callback throws that was told to stop is how it stops.
        boolean failed = error != null && !over.wasTold();
        over.over();
        if (error != null && failed) {
            Futures.guarded("a message", () -> ElectionMessages.leaderFailed(over, Futures.unwrapped(error)));
        }
        on(over, new Event.Returned(failed));
    }

    /** A loss that another event overtakes is told as the loss that it is: its listeners hear of it directly. */
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
     * The time for a callback to return: the rest of its validity. A term that is lost has nothing left that others wait for: after a
     * ttl it is logged. One that is in doubt shows no validity, and has at most a whole one.
     */
    long graceNanos(RunningTerm over) {
        long leftNanos = Timings.saturatedNanos(over.lease().remainingValidity());
        return leftNanos > 0 ? leftNanos : settings.timings().ttlNanos();
    }

    private void release(RunningTerm over) {
        synchronized (this) {
            timer = TimerQueue.cancelled(timer);
        }
        Futures.ask(LeaseHandle.of(over.lease())::give)
                .whenComplete((answer, error) -> released(over, error == null ? answer : ReleaseOutcome.UNCONFIRMED));
    }

    private void released(RunningTerm over, ReleaseOutcome answer) {
        CompletableFuture<ReleaseOutcome> told;
        synchronized (this) {
            if (over != term) {
                return;
            }
            told = outcome;
        }
        told.complete(answer);
        on(over, new Event.Released(context.store().guarantees().queueing() == Guarantee.Queueing.FIFO));
    }

    // ---- the end, and what the handle asks

    private void end() {
        synchronized (this) {
            timer = TimerQueue.cancelled(timer);
        }
        if (attempts.closed().isDone()) {
            tellEnded();
        } else {
            Futures.execute(context.runtime(), this::tellEnded);
        }
    }

    private void tellEnded() {
        Throwable why;
        synchronized (this) {
            why = failure;
        }
        if (why == null) {
            ended.complete(null);
        } else {
            ended.completeExceptionally(why);
        }
    }

    /**
     * The current term, or the last one, for the handle.
     *
     * @param term the term
     * @param outcome how it was given back
     * @param leads it has not ended completely
     */
    record Known(@Nullable RunningTerm term, CompletableFuture<ReleaseOutcome> outcome, boolean leads) {}

    synchronized Known known() {
        return new Known(term, outcome, machine.phase() == Phase.LEADING);
    }

    LockName name() {
        return name;
    }

    EngineContext context() {
        return context;
    }

    Attempts attempts() {
        return attempts;
    }

    long answerNanos() {
        return settings.timings().answerNanos();
    }

    /** Completes when it has ended, on any thread; exceptionally if the store never accepts it. */
    CompletableFuture<Void> ended() {
        return ended;
    }
}
