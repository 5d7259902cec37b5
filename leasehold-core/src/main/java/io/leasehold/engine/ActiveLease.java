package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.Holder;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.ClientRecord;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One lease of a grant: its token, its listeners and its end. The caller uses a {@link LeaseHandle}, so that a dropped
 * handle can be detected.
 *
 * <p>{@code this} guards the fields that change. User code runs on callback threads. The lease of a grant that several
 * readers share is a {@link SharedLease}, which no caller has.
 */
class ActiveLease implements LeakWatch.Watched {

    private final LeaseOwner owner;
    private final long token;
    private final long acquiredAtNanos;
    /** Created by the first use: nearly every lease has no news for as long as it is held. */
    private @Nullable LeaseNews news;
    /** Reachable for as long as the lease, so that a dropped handle is found. */
    @SuppressWarnings("UnusedVariable")
    private LeakWatch.@Nullable Trace trace;

    private @Nullable Thread opener;
    /** Whether a thread other than the opener has used the lease, and may be the one that releases it. */
    private boolean shared;

    private boolean unseen;

    private boolean releaseCalled;
    /** Whether close() has begun the release; only close() then sees its outcome. */
    private boolean closing;

    ActiveLease(LeaseOwner owner, long token, long acquiredAtNanos) {
        this.owner = owner;
        this.token = token;
        this.acquiredAtNanos = acquiredAtNanos;
        FlightEvents.Hold recording = FlightEvents.holdBegun();
        this.news = recording == null ? null : new LeaseNews(recording);
    }

    /** Returns the news; called under the guard. */
    private LeaseNews news() {
        news = news == null ? new LeaseNews(null) : news;
        return news;
    }

    /** Keeps the trace of the handle of this lease. */
    synchronized void watched(LeakWatch.Trace handle) {
        trace = handle;
    }

    @Override
    public LockName name() {
        return owner.name();
    }

    LeaseOwner owner() {
        return owner;
    }

    @Override
    public long token() {
        return token;
    }

    /** Returns how long the lock is kept; zero for a lease that no caller has seen. */
    synchronized GrantMachine.Keeping keeping() {
        return new GrantMachine.Keeping(
                acquiredAtNanos, unseen ? 0 : owner.settings().atLeastNanos());
    }

    /** Marks the lease as one that no caller has seen or will see. */
    synchronized void unseen() {
        unseen = true;
    }

    Duration heldFor() {
        return Duration.ofNanos(owner.context().runtime().nanoTime() - acquiredAtNanos);
    }

    /** Records the thread that waited for the lease, if a thread did. */
    synchronized void openedBy(Thread thread) {
        opener = thread;
    }

    /** Called before each automatic renewal. */
    void renewalDue() {}

    /** Returns the lease for the client's record, with the name of the thread that waited for it, or an empty name. */
    ClientRecord.ClientHold asClientHold(long renewals) {
        Duration held = heldFor();
        Instant since = Instant.ofEpochMilli(owner.context().runtime().wallMillis() - held.toMillis());
        return new ClientRecord.ClientHold(ClientRecord.listed(name()), openerName(), since, renewals);
    }

    /** Returns the holds for the client's record: one for each permit that the lease stands for. */
    final List<ClientRecord.ClientHold> asClientHolds(long renewals) {
        return Collections.nCopies(permits(), asClientHold(renewals));
    }

    private synchronized int permits() {
        return news == null ? 1 : news.permits;
    }

    /** Records that the lease stands for so many permits. */
    synchronized void standsFor(int permits) {
        news().permits = permits;
    }

    /** Keeps the listeners from this lease until {@link #joined}: it may be returned before any caller has it. */
    synchronized void quiet() {
        news().part = new JoinedEnd.Part();
    }

    private synchronized JoinedEnd.@Nullable Part part() {
        return news == null ? null : news.part;
    }

    /** Records that the quiet lease is one of several that are one hold, of which the listeners know from now on. */
    void joined(JoinedEnd hold) {
        Objects.requireNonNull(part(), "a lease of its own").joined(hold);
    }

    /** Tells the listeners of the end, unless another lease of the same hold does. */
    private void tellListeners(boolean isClean, Consumer<LockListener> end) {
        JoinedEnd.Part.ended(part(), isClean, () -> owner.context().events().tell(end));
    }

    Holder asHolder(long remainingNanos) {
        return new Holder(owner.context().holderId(), Duration.ofNanos(remainingNanos), OptionalLong.of(token));
    }

    synchronized String openerName() {
        return opener == null ? "" : opener.getName();
    }

    synchronized boolean isOpenedByOtherThan(Thread thread) {
        return opener != null && opener != thread && opener.isAlive() && !releaseCalled;
    }

    synchronized boolean isToBeReleased() {
        return !releaseCalled && (opener == null || shared || opener.isAlive());
    }

    /** Whether this thread opened the lease and is, as far as can be known, the only one that can release it. */
    synchronized boolean isOnlyFor(Thread thread) {
        return opener == thread && !shared && !releaseCalled;
    }

    /** Records a use; every operation of a holder calls it under the guard. */
    private void used() {
        if (opener != null && opener != Thread.currentThread()) {
            shared = true;
        }
    }

    // ---- queries

    /** Returns the validity left; this does not count as a report to the caller. */
    Duration remaining() {
        synchronized (this) {
            used();
            if (releaseCalled) {
                return Duration.ZERO;
            }
        }
        return Duration.ofNanos(owner.remainingNanos(this));
    }

    /** Returns the validity left; a caller that reads zero has been notified of the end. */
    Duration tellRemaining() {
        return told(remaining());
    }

    private Duration told(Duration remaining) {
        if (remaining.isZero()) {
            owner.on(new GrantMachine.EndDue());
            lossReported();
        } else {
            reportedValid();
        }
        return remaining;
    }

    /** Forgets that the lease was reported as invalid, after a suspension: that was no report of a later loss. */
    private void reportedValid() {
        // Without the guard, since every check comes here: a thread sees at least its own reports.
        LeaseNews known = news;
        if (known != null && known.lossReported) {
            synchronized (this) {
                known.lossReported = known.loss != null;
            }
        }
    }

    /**
     * Checks the validity at this moment. Returns null if at least the wanted validity is left, else the risk; throws
     * if the lease has ended.
     */
    @Nullable
    LeaseAtRiskException risk(Duration wanted) {
        Timings timings = owner.settings().timings();
        if (wanted.isNegative() || Timings.saturatedNanos(wanted) > timings.longestCheckableNanos()) {
            throw LeaseMessages.uncheckable(name(), wanted, timings);
        }
        refuseIfReleased("check");
        return riskIn(tellRemaining(), wanted);
    }

    private @Nullable LeaseAtRiskException riskIn(Duration remaining, Duration wanted) {
        HoldEnd.Lost lost = remaining.isZero() ? loss() : null;
        if (lost != null) {
            throw reported(lost);
        }
        return remaining.isZero() || remaining.compareTo(wanted) < 0
                ? new LeaseAtRiskException(name(), remaining, wanted)
                : null;
    }

    /**
     * As {@link #risk}, after the check has waited and received this verdict. It may run on a thread other than the
     * caller's.
     */
    @Nullable
    LeaseAtRiskException riskAfter(WaitingChecks.@Nullable Verdict verdict, Duration wanted) {
        synchronized (this) {
            if (releaseCalled) {
                throw LeaseMessages.released("check", name());
            }
        }
        if (verdict instanceof WaitingChecks.Lost lost && loss() == null) {
            // The thread that has detected the loss has not reported it yet.
            lossReported();
            throw LeaseMessages.lost(name(), lost.cause(), List.of(), store());
        }
        return riskIn(told(Duration.ofNanos(owner.remainingNanos(this))), wanted);
    }

    private synchronized void refuseIfReleased(String verb) {
        used();
        if (releaseCalled) {
            throw LeaseMessages.released(verb, name());
        }
    }

    /** Records that an exception has reported the loss to the caller. */
    synchronized void lossReported() {
        news().lossReported = true;
    }

    private synchronized HoldEnd.@Nullable Lost loss() {
        return news == null ? null : news.loss;
    }

    @Nullable
    LossCause cause() {
        HoldEnd.Lost lost = loss();
        return lost == null ? null : lost.cause();
    }

    CompletableFuture<Void> renew() {
        try {
            refuseIfReleased("renew");
        } catch (IllegalStateException e) {
            return CompletableFuture.failedFuture(e);
        }
        owner.on(new GrantMachine.EndDue());
        HoldEnd.Lost lost = loss();
        if (lost != null) {
            return CompletableFuture.failedFuture(reported(lost));
        }
        return owner.renewByHand();
    }

    // ---- loss

    /** Returns the loss as an exception for the caller, which is thereby notified. */
    private LeaseLostException reported(HoldEnd.Lost lost) {
        lossReported();
        return LeaseMessages.lost(name(), lost.cause(), lost.votes(), store());
    }

    private String store() {
        return owner.context().store().description();
    }

    /**
     * Notifies the listeners of the risk. Does nothing after a release: a lock that is kept for a while has no holder.
     */
    void atRisk(Duration remaining) {
        List<Consumer<? super Duration>> callbacks;
        synchronized (this) {
            if (releaseCalled) {
                return;
            }
            callbacks = news == null ? List.of() : news.riskCallbacks;
        }
        owner.context().events().tell(l -> l.atRisk(new LockListener.AtRisk(name(), token, remaining)));
        callbacks.forEach(callback -> call(() -> callback.accept(remaining)));
    }

    private void call(Runnable userCode) {
        Futures.execute(owner.context().runtime(), userCode);
    }

    void lost(LossCause why, List<NodeVote> said) {
        HoldEnd.Lost lost = new HoldEnd.Lost(why, said);
        List<Consumer<? super LossCause>> callbacks;
        synchronized (this) {
            // A release may find that the lease had already ended. No callback follows a release.
            callbacks = news().lost(lost, releaseCalled);
        }
        callbacks.forEach(callback -> call(() -> callback.accept(why)));
        if (!tellEnd(lost, "LOST")) {
            return;
        }
        FlightEvents.lost(name(), token, why, heldFor(), store());
        tellListeners(false, l -> l.lost(new LockListener.Lost(name(), token, why, heldFor(), said)));
    }

    /** Whether the handle was dropped while the lease was held; a lease that has ended may be dropped. */
    @Override
    public boolean isLeaked() {
        return isUnreleased() && cause() == null;
    }

    @Override
    public void leaked() {
        owner.on(new GrantMachine.Abandoned(LossCause.LEAKED));
    }

    void abandoned(LossCause why) {
        LeaseMessages.logAbandoned(name(), token, why, heldFor());
        owner.context().events().tell(l -> l.abandoned(new LockListener.Abandoned(name(), token, why, heldFor())));
    }

    void onLost(Consumer<? super LossCause> callback) {
        Objects.requireNonNull(callback, "callback");
        HoldEnd.Lost lost = lossOr(news -> news.onLost(callback));
        if (lost != null) {
            call(() -> callback.accept(lost.cause()));
        }
    }

    /**
     * Returns the loss, which is thereby reported to the caller. If the lease is not lost, the step stores the caller's
     * request. Null after a release.
     */
    private synchronized HoldEnd.@Nullable Lost lossOr(Consumer<LeaseNews> keep) {
        used();
        return releaseCalled ? null : news().lossOr(keep);
    }

    synchronized void onAtRisk(Consumer<? super Duration> callback) {
        used();
        news().onAtRisk(Objects.requireNonNull(callback, "callback"));
    }

    void interruptOnLoss(Interruption wanted) {
        if (lossOr(news -> news.onLost(wanted)) != null) {
            wanted.deliver();
        }
    }

    /** Reports the end, once; returns false if the end was reported before. */
    private boolean tellEnd(HoldEnd how, String recorded) {
        LeaseNews all;
        CompletableFuture<HoldEnd> asked;
        synchronized (this) {
            all = news();
            if (all.end != null) {
                return false;
            }
            all.end = how;
            asked = all.ended;
        }
        if (asked != null) {
            call(() -> asked.complete(how));
        }
        if (all.recording != null) {
            all.recording.ended(name(), token, recorded);
        }
        return true;
    }

    synchronized CompletionStage<HoldEnd> whenEnded() {
        return news().whenEnded();
    }

    // ---- release

    synchronized boolean isUnreleased() {
        return !releaseCalled;
    }

    /** Records that close() begins the release. */
    synchronized void closing() {
        closing = true;
    }

    synchronized boolean isClosing() {
        return closing;
    }

    /** Keeps the lock from the next attempt in the process: it is released for a waiter at the store. */
    synchronized void keepForOthers() {
        news().forOthers = true;
    }

    synchronized boolean isForOthers() {
        return news().forOthers;
    }

    /** Releases the lease, once. The future completes with the outcome, on any thread. */
    CompletableFuture<ReleaseOutcome> release() {
        CompletableFuture<ReleaseOutcome> released;
        synchronized (this) {
            released = news().released();
            if (releaseCalled) {
                return released;
            }
            releaseCalled = true;
            news().forgetInterruptions();
        }
        try {
            owner.giveBack(this);
        } catch (RuntimeException | Error e) {
            // The end also reaches a second caller, close(), and the callers that wait for the end.
            Futures.guarded("the news of an end", () -> released(ReleaseOutcome.UNCONFIRMED, List.of()));
            throw e;
        }
        return released;
    }

    /** Ends the lease by its export. The future completes with the ticket, on any thread. */
    CompletableFuture<LeaseTicket> export(Duration claim) {
        return convert("export", () -> new LeaseExport(name(), claim, keeping(), owner.settings(), owner.context()));
    }

    /**
     * Ends the lease by its export or downgrade. The future completes with the result, on any thread.
     *
     * @param make creates the conversion, or refuses it before anything has changed
     */
    <T> CompletableFuture<T> convert(String verb, Supplier<Conversion<T>> make) {
        Conversion<T> export;
        CompletableFuture<ReleaseOutcome> released;
        try {
            refuseIfReleased(verb);
            export = make.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        owner.on(new GrantMachine.EndDue());
        synchronized (this) {
            HoldEnd.Lost lost = loss();
            if (releaseCalled || lost != null) {
                return CompletableFuture.failedFuture(
                        lost == null ? LeaseMessages.released(verb, name()) : reported(lost));
            }
            releaseCalled = true;
            LeaseNews all = news();
            all.forgetInterruptions();
            released = all.released();
        }
        released.thenAccept(outcome -> converted(export, outcome));
        try {
            owner.on(new GrantMachine.ExportCalled(export, keeping()));
        } catch (RuntimeException | Error e) {
            // Nothing was sent. Otherwise, the lease would be renewed until the client closes.
            Futures.guarded("the news of a conversion", () -> export.failUnsent(e));
            Futures.guarded("the news of an end", () -> released(ReleaseOutcome.UNCONFIRMED, List.of()));
            Futures.guarded("the release of a lease that could not be converted", () -> owner.giveBack(this));
        }
        return export.result();
    }

    /** Fails the conversion of a lease that has ended without its result, unless it has failed before. */
    private void converted(Conversion<?> export, ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.ALREADY_LOST) {
            LossCause known = cause();
            export.fail(LeaseMessages.lost(name(), known == null ? LossCause.NOT_OURS : known, List.of(), store()));
        } else if (outcome != ReleaseOutcome.EXPORTED && outcome != ReleaseOutcome.DOWNGRADED) {
            export.failUnsent(null);
        }
    }

    /** Returns the future of the release. */
    final synchronized CompletableFuture<ReleaseOutcome> released() {
        return news().released();
    }

    /** Returns the loss that a release has found, as an exception for the caller, which is thereby notified. */
    LeaseLostException lossFound() {
        HoldEnd.Lost known = loss();
        return reported(known == null ? new HoldEnd.Lost(LossCause.NOT_OURS, List.of()) : known);
    }

    void released(ReleaseOutcome outcome, List<NodeVote> said) {
        if (released().complete(outcome) && tellEnd(new HoldEnd.Released(outcome, said), outcome.name())) {
            tellListeners(
                    outcome == ReleaseOutcome.RELEASED,
                    l -> l.released(new LockListener.Released(name(), token, outcome, heldFor(), said)));
        }
    }

    /** Logs, once, a loss that was never reported to user code. */
    void logUnreportedLoss(ReleaseOutcome outcome) {
        LossCause unheard;
        synchronized (this) {
            // A loss that only the release has detected counts like any other.
            boolean found = cause() == null && outcome == ReleaseOutcome.ALREADY_LOST;
            unheard = news().lossReported ? null : found ? LossCause.NOT_OURS : cause();
            lossReported();
        }
        if (unheard != null) {
            LeaseMessages.logUnreportedLoss(name(), token, unheard, store());
        }
    }
}
