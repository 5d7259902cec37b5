package io.leasehold.engine;

import io.leasehold.Candidacy;
import io.leasehold.Guarantee;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.UnsafeStoreException;
import io.leasehold.engine.CandidacyMachine.Event;
import io.leasehold.engine.CandidacyMachine.Phase;
import io.leasehold.spi.LockRecord;
import io.leasehold.spi.LockRuntime;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A candidacy: performs what its {@link CandidacyMachine} decides.
 *
 * <p>The machine and the fields that change are guarded by {@code this}; calls to other classes are made without it. An event of a
 * term names it, so that a late one of an earlier term has no effect.
 */
final class RunningCandidacy implements Candidacy {

    private final LockName name;
    private final WaitSettings settings;
    private final Attempts attempts;
    private final EngineContext context;
    private final RunningTerm.Callback callback;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    private CandidacyMachine machine;
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
        this.machine = CandidacyMachine.standing(context.store().guarantees().queueing() == Guarantee.Queueing.FIFO);
    }

    /** Begins the first attempt; if it is refused at once, the caller is told. */
    RunningCandidacy begin() {
        enter();
        // The last part of the client's close; a pause would otherwise outlast it. Forgotten by the client with the
        // candidacy.
        CompletableFuture.anyOf(ended, attempts.closed()).whenComplete((done, error) -> clientClosed());
        return this;
    }

    private void clientClosed() {
        on(new Event.Close(false));
        boolean isOver;
        synchronized (this) {
            isOver = machine.phase() == Phase.ENDED;
        }
        if (isOver) {
            // The threads that were to tell it may be gone.
            ended.complete(null);
        }
    }

    // ---- events and actions

    private void on(Event event) {
        RunningTerm current;
        synchronized (this) {
            current = term;
        }
        on(current, event);
    }

    /** An event while this is the current term, or the last one. */
    private void on(@Nullable RunningTerm about, Event event) {
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
            case PAUSE -> arm(pauseNanos(), about, new Event.PauseOver());
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
            case TELL_END -> about.tellEnd(endAfter(about, cause));
            case ARM_GRACE -> arm(graceNanos(about, cause), about, new Event.GraceOver());
            case WARN -> ElectionMessages.callbackGoesOn(about);
            case RELEASE -> release(about);
            default -> throw new AssertionError(action + " is none of a term");
        }
    }

    private void arm(long nanos, @Nullable RunningTerm about, Event event) {
        LockRuntime.Timer armed = context.timeline().schedule(nanos, () -> on(about, event));
        synchronized (this) {
            TimerQueue.cancelled(timer);
            timer = armed;
        }
    }

    // ---- standing

    private void stand() {
        try {
            enter();
        } catch (RuntimeException | Error e) {
            failed(e);
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
                failed(Futures.unwrapped(error));
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

    private void failed(Throwable error) {
        boolean forGood = attempts.isClosing() || error instanceof UnsafeStoreException;
        boolean isNews;
        synchronized (this) {
            if (machine.phase() != Phase.STANDING) {
                return;
            }
            isNews = !outage && !forGood;
            outage = true;
            failure = error instanceof UnsafeStoreException ? error : null;
        }
        if (isNews) {
            ElectionMessages.cannotStand(name, error);
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
        boolean failed = false;
        if (error != null && !over.wasTold()) {
            failed = true;
            ElectionMessages.leaderFailed(over, Futures.unwrapped(error));
        }
        over.over();
        on(over, new Event.Returned(failed));
    }

    private static Term.End endAfter(RunningTerm over, Event cause) {
        if (!(cause instanceof Event.Lost)) {
            return new Term.End.Resigned();
        }
        LossCause loss = LeaseHandle.of(over.lease()).state().cause();
        return new Term.End.Lost(loss == null ? LossCause.EXPIRED : loss);
    }

    /** The rest of its validity; where none is left, a ttl, after which a callback that goes on is logged. */
    private long graceNanos(RunningTerm over, Event cause) {
        return cause instanceof Event.Lost
                ? settings.timings().ttlNanos()
                : Timings.saturatedNanos(over.lease().remainingValidity());
    }

    private void release(RunningTerm over) {
        CompletableFuture<ReleaseOutcome> told;
        synchronized (this) {
            TimerQueue.cancelled(timer);
            timer = null;
            told = outcome;
        }
        Futures.ask(LeaseHandle.of(over.lease())::give).whenComplete((answer, error) -> {
            told.complete(error == null ? answer : ReleaseOutcome.UNCONFIRMED);
            on(over, new Event.Released());
        });
    }

    // ---- the candidate's side

    @Override
    public LockName election() {
        return name;
    }

    @Override
    public synchronized Optional<Term> term() {
        return term != null && machine.phase() == Phase.LEADING && term.isUnderWay()
                ? Optional.of(term)
                : Optional.empty();
    }

    @Override
    public ReleaseOutcome resign() {
        return Futures.join(context.runtime(), givenBack());
    }

    @Override
    public CompletableFuture<ReleaseOutcome> resignAsync() {
        return Futures.onCallbackExecutor(context.runtime(), givenBack());
    }

    private CompletableFuture<ReleaseOutcome> givenBack() {
        RunningTerm current;
        CompletableFuture<ReleaseOutcome> told;
        boolean leads;
        synchronized (this) {
            current = term;
            told = outcome;
            leads = machine.phase() == Phase.LEADING;
        }
        if (leads) {
            on(current, new Event.Resign(isCallback(current)));
            return told;
        }
        return current != null && told.getNow(ReleaseOutcome.ALREADY_LOST) == ReleaseOutcome.UNCONFIRMED
                ? isGone(current)
                : CompletableFuture.completedFuture(ReleaseOutcome.ALREADY_LOST);
    }

    /** Whether a term whose release was not answered is gone meanwhile: a lock with a larger token, or none, says so. */
    private CompletableFuture<ReleaseOutcome> isGone(RunningTerm former) {
        return Futures.ask(() -> context.store().admin().describe(name))
                .thenApply(record -> record.map(LockRecord::holder)
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
        RunningTerm current;
        synchronized (this) {
            current = term;
        }
        boolean byCallback = isCallback(current);
        long graceNanos =
                current == null ? 0 : Timings.saturatedNanos(current.lease().remainingValidity());
        on(new Event.Close(byCallback));
        if (!byCallback) {
            Futures.joinAtMost(
                    context.runtime(),
                    ended.handle((done, e) -> null),
                    graceNanos + settings.timings().answerNanos());
        }
    }

    @Override
    public CompletableFuture<Void> closeAsync() {
        on(new Event.Close(isCallback(term)));
        return ended.handle((done, error) -> null);
    }

    @Override
    public CompletionStage<Void> whenEnded() {
        return ended.minimalCompletionStage();
    }

    private void end() {
        Throwable why;
        synchronized (this) {
            TimerQueue.cancelled(timer);
            timer = null;
            why = failure;
        }
        Runnable news = () -> {
            if (why == null) {
                ended.complete(null);
            } else {
                ended.completeExceptionally(why);
            }
        };
        if (attempts.closed().isDone()) {
            news.run();
        } else {
            Futures.execute(context.runtime(), news);
        }
    }

    @Override
    public String toString() {
        return "Candidacy[" + name + " at " + context.store().description() + "]";
    }
}
