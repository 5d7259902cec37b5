// Long because everything that can happen to a grant changes the same few fields under one guard.
package io.leasehold.engine;

import io.leasehold.Fairness;
import io.leasehold.Holder;
import io.leasehold.LockListener;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one grant alive and lets leases of it follow each other: carries out what its {@link GrantMachine} decides.
 *
 * <p>All fields that change are guarded by {@code this}; actions are carried out outside of it. The lock order is desks
 * → nothing; keeper → nothing; lease → keeper.
 */
final class HeldGrant {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final LockName name;
    private final Grant grant;
    /** The highest ballot ever proposed under the owner token, perhaps by a request that may still arrive. */
    private final long highestBallot;

    private final LockOptions options;
    private final Timings timings;
    private final long nodeTimeoutNanos;
    private final EngineContext wiring;
    private final LocalQueues desks;
    private final GrantMachine machine;
    private final long grantedAtNanos;

    private long nextToken;
    private long renewals;
    /** Of the suspensions that were noticed, how many the machine was told of. */
    private long suspensionsSeen;

    private @Nullable ActiveLease current;
    /** The lease whose holder asked for its release last; until it is passed on, that release waits for an outcome. */
    private @Nullable ActiveLease givenBack;

    private List<CompletableFuture<Void>> renewalsByHand = List.of();
    /** What the nodes said to the last renewal, if it did not succeed. */
    private List<NodeVote> votes = List.of();

    private @Nullable Thread holdingThread;
    private LockRuntime.@Nullable Timer renewTimer;
    private LockRuntime.@Nullable Timer endTimer;
    private FlightEvents.@Nullable Renewal recording;

    HeldGrant(
            LockName name,
            Grant grant,
            long highestBallot,
            WaitSettings settings,
            EngineContext wiring,
            LocalQueues desks) {
        this.name = name;
        this.grant = grant;
        this.highestBallot = Math.max(highestBallot, grant.tokens().last());
        this.options = settings.options();
        this.timings = settings.timings();
        this.nodeTimeoutNanos = settings.nodeTimeoutNanos();
        this.wiring = wiring;
        this.desks = desks;
        this.grantedAtNanos = wiring.runtime().nanoTime();
        this.nextToken = grant.tokens().first();
        this.machine = new GrantMachine(timings, grant.sentAtNanos(), grantedAtNanos);
        this.suspensionsSeen = wiring.suspensions().suspensions();
    }

    /**
     * Makes the first lease, arms the timers and lets the client find the grant. If the machine was suspended since the
     * request was sent, the lease begins unconfirmed.
     *
     * @param mark taken from the {@link SuspendWatch} before the request was sent
     * @param asked where it was asked for, if that is remembered
     */
    LeaseHandle begin(long mark, @Nullable Throwable asked) {
        ActiveLease first;
        synchronized (this) {
            first = mint();
        }
        wiring.holds().add(grant.owner(), this);
        wiring.suspensions().watch();
        wiring.announcer().watch();
        perform(machine.begin(grant.sentAtNanos(), wiring.random()));
        if (wiring.suspensions().hasSleptSince(mark)) {
            suspended();
        }
        return wiring.leaks().handle(first, asked);
    }

    private ActiveLease mint() {
        ActiveLease lease = new ActiveLease(this, nextToken++, wiring.runtime().nanoTime());
        current = lease;
        holdingThread = null;
        return lease;
    }

    private synchronized @Nullable ActiveLease currentLease() {
        return current;
    }

    private void on(GrantMachine.Event event) {
        perform(decide(event));
    }

    private synchronized List<GrantMachine.Action> decide(GrantMachine.Event event) {
        boolean wasReleased = machine.isReleased();
        List<GrantMachine.Action> actions = machine.on(event, wiring.runtime().nanoTime());
        if (machine.isReleased() && !wasReleased) {
            wiring.holds().endBegun(this);
        }
        return actions;
    }

    private void perform(List<GrantMachine.Action> actions) {
        for (GrantMachine.Action action : actions) {
            try {
                perform(action);
            } catch (RuntimeException | Error e) {
                LOG.error("lock \"{}\": a step of its lease failed unexpectedly", name, e);
                endLoudly(action);
            }
        }
    }

    /** What waits for this action to have an outcome is told that it has failed. */
    private void endLoudly(GrantMachine.Action action) {
        if (action instanceof GrantMachine.Renew) {
            on(new GrantMachine.RenewFailed());
        } else if (action instanceof GrantMachine.SendRelease || action instanceof GrantMachine.LeaveToEnd) {
            finish(ReleaseOutcome.UNCONFIRMED, List.of());
        }
    }

    private void perform(GrantMachine.Action action) {
        if (action instanceof GrantMachine.Renew renew) {
            wiring.renewals().renew(this, renew.byHand() ? 0 : timings.batchingNanos());
        } else if (action instanceof GrantMachine.RefuseRenewal refused) {
            finishRenewalsByHand(() -> refused(refused.why()));
        } else if (action instanceof GrantMachine.ArmRenew arm) {
            arm(arm.atNanos(), false);
        } else if (action instanceof GrantMachine.ArmEnd arm) {
            arm(arm.atNanos(), true);
        } else if (action instanceof GrantMachine.TellAtRisk risk) {
            tellAtRisk(Duration.ofNanos(risk.remainingNanos()));
        } else if (action instanceof GrantMachine.TellAbandoned abandoned) {
            tellAbandoned(abandoned.cause());
        } else if (action instanceof GrantMachine.TellLost lost) {
            tellLost(lost.cause());
        } else if (action instanceof GrantMachine.SendRelease release) {
            ending(() -> sendRelease(release.lost()));
        } else if (action instanceof GrantMachine.LeaveToEnd) {
            ending(this::leaveToEnd);
        }
    }

    /** A client that closes waits for an end from its decision on: it may have to follow a renewal that is being sent. */
    private void ending(Runnable end) {
        try {
            end.run();
        } finally {
            wiring.holds().endSent(this);
        }
    }

    private synchronized void arm(long atNanos, boolean end) {
        if (!machine.isHeld()) {
            return;
        }
        if (end) {
            cancel(endTimer);
            endTimer = wiring.timeline().scheduleAt(atNanos, () -> on(new GrantMachine.EndDue()));
        } else {
            cancel(renewTimer);
            renewTimer = wiring.timeline().scheduleAt(atNanos, this::renewalDue);
        }
    }

    private static void cancel(LockRuntime.@Nullable Timer timer) {
        if (timer != null) {
            timer.cancel();
        }
    }

    private synchronized void disarm() {
        cancel(renewTimer);
        cancel(endTimer);
        renewTimer = null;
        endTimer = null;
    }

    // ---- what the leases ask

    LockName name() {
        return name;
    }

    Timings timings() {
        return timings;
    }

    EngineContext wiring() {
        return wiring;
    }

    long atLeastNanos() {
        return Math.min(Long.MAX_VALUE / 2, Timings.saturatedNanos(options.atLeast()));
    }

    /** The validity left for this lease, which must be the current one; looks for a suspension first. */
    long remainingNanos(ActiveLease lease) {
        wiring.suspensions().check();
        List<GrantMachine.Action> actions;
        long leftNanos;
        synchronized (this) {
            actions = suspendedMeanwhile();
            leftNanos =
                    current == lease ? machine.remainingNanos(wiring.runtime().nanoTime()) : 0;
        }
        perform(actions);
        return leftNanos;
    }

    /** Takes in a suspension that this or another thread has noticed; nothing if it is known here. */
    void noticeSuspension() {
        List<GrantMachine.Action> actions;
        synchronized (this) {
            actions = suspendedMeanwhile();
        }
        perform(actions);
    }

    private void lookForSuspension() {
        wiring.suspensions().check();
        noticeSuspension();
    }

    /** Called under the guard. */
    private List<GrantMachine.Action> suspendedMeanwhile() {
        long noticed = wiring.suspensions().suspensions();
        if (noticed == suspensionsSeen) {
            return List.of();
        }
        suspensionsSeen = noticed;
        return machine.on(new GrantMachine.Suspended(), wiring.runtime().nanoTime());
    }

    /** Notices an end that the timer has not told yet. */
    void checkEnd() {
        on(new GrantMachine.EndDue());
    }

    /** Binds the current lease to a thread: once that has died, there is nobody left to release it. */
    synchronized void bindTo(Thread thread) {
        holdingThread = thread;
    }

    /** Asks for a renewal now; the future completes with its answer. */
    CompletableFuture<Void> renewByHand() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        lookForSuspension();
        synchronized (this) {
            renewalsByHand = new ArrayList<>(renewalsByHand);
            renewalsByHand.add(future);
        }
        on(new GrantMachine.RenewDue(true));
        synchronized (this) {
            if (machine.isHeld()) {
                return future;
            }
        }
        finishRenewalsByHand(this::releasedMeanwhile);
        return future;
    }

    // ---- renewal

    private void renewalDue() {
        Futures.guarded("looking for leaks", wiring.leaks()::report);
        Thread thread;
        synchronized (this) {
            thread = holdingThread;
        }
        if (thread != null && !thread.isAlive()) {
            abandon(LossCause.THREAD_DIED);
        }
        on(new GrantMachine.RenewDue(false));
    }

    /** The holder of the current lease is gone: says so, and renews no more. */
    void abandon(LossCause cause) {
        synchronized (this) {
            holdingThread = null;
        }
        on(new GrantMachine.Abandoned(cause));
    }

    synchronized boolean beginSending() {
        return machine.beginSending();
    }

    void renewalSent() {
        // First: a release may wait for it.
        on(new GrantMachine.RenewalSent());
        FlightEvents.Renewal begun = FlightEvents.renewalBegun();
        synchronized (this) {
            recording = begun;
        }
    }

    RenewBatch.Item renewalItem() {
        return new RenewBatch.Item(name, grant.owner(), timings.toldNanos(), nodeTimeoutNanos);
    }

    void renewalAnswered(RenewReply.Item answer) {
        Duration headroom;
        List<GrantMachine.Action> actions;
        try {
            // The request may have left before a suspension that nobody has noticed yet.
            lookForSuspension();
            synchronized (this) {
                headroom =
                        Duration.ofNanos(machine.remainingNanos(wiring.runtime().nanoTime()));
                votes = answer.votes();
            }
            actions = decide(eventOf(answer));
        } catch (RuntimeException | Error e) {
            // What cannot be looked at confirms nothing; the next renewal is armed all the same.
            on(new GrantMachine.RenewFailed());
            finishRenewalsByHand(() -> new StoreUnavailableException(
                    "the answer to a renewal of \"" + name + "\" could not be taken in: " + e, e));
            throw e;
        }
        perform(actions);
        tellRenewed(answer, headroom);
        if (answer instanceof RenewReply.Failed failed) {
            finishRenewalsByHand(failed::error);
        } else if (answer instanceof RenewReply.NotOurs || !awaitsConfirmation()) {
            finishRenewalsByHand(null);
        }
    }

    private GrantMachine.Event eventOf(RenewReply.Item answer) {
        if (answer instanceof RenewReply.Renewed renewed) {
            synchronized (this) {
                renewals++;
            }
            return new GrantMachine.Renewed(renewed.sentAtNanos());
        } else if (answer instanceof RenewReply.NotOurs) {
            return new GrantMachine.Denied();
        }
        return new GrantMachine.RenewFailed();
    }

    /** Whether it left before a suspension: then it says nothing, and another one is on its way or armed. */
    private synchronized boolean awaitsConfirmation() {
        return machine.isUnconfirmed();
    }

    private void tellRenewed(RenewReply.Item answer, Duration headroom) {
        RenewalOutcome outcome = answer instanceof RenewReply.Renewed
                ? RenewalOutcome.RENEWED
                : answer instanceof RenewReply.NotOurs ? RenewalOutcome.NOT_OURS : RenewalOutcome.FAILED;
        Futures.guarded("the news of a renewal", () -> tellRenewed(outcome, headroom));
    }

    private void tellRenewed(RenewalOutcome outcome, Duration headroom) {
        ActiveLease lease = currentLease();
        FlightEvents.Renewal recorded;
        synchronized (this) {
            recorded = recording;
            recording = null;
        }
        if (recorded != null) {
            recorded.ended(name, lease == null ? 0 : lease.token(), outcome, headroom);
        }
        if (lease != null) {
            wiring.events()
                    .tell(l -> l.renewed(new LockListener.Renewed(
                            name, lease.token(), outcome, headroom, Duration.ofNanos(timings.ttlNanos()))));
        }
    }

    private IllegalStateException refused(LossCause why) {
        return new IllegalStateException("lease on \"" + name + "\" is renewed no more (" + why + ", maxHold = "
                + Duration.ofNanos(timings.maxHoldNanos()) + "); it ends with its validity");
    }

    private IllegalStateException releasedMeanwhile() {
        return new IllegalStateException("lease on \"" + name + "\" was released during its renewal");
    }

    /** Who asks, and whether it is lost, are looked at together: who asks after a loss is not told of a success before it. */
    private void finishRenewalsByHand(@Nullable Supplier<RuntimeException> error) {
        List<CompletableFuture<Void>> waiting;
        List<NodeVote> said;
        LossCause lost;
        synchronized (this) {
            said = votes;
            waiting = renewalsByHand;
            renewalsByHand = List.of();
            lost = machine.cause();
        }
        ActiveLease lease = currentLease();
        if (lost != null && lease != null && !waiting.isEmpty()) {
            lease.heardOfLoss();
        }
        for (CompletableFuture<Void> future : waiting) {
            if (lost != null) {
                future.completeExceptionally(ActiveLease.lostException(name, lost, said, wiring));
            } else if (error != null) {
                future.completeExceptionally(error.get());
            } else {
                future.complete(null);
            }
        }
    }

    // ---- loss

    void takenAway(LossCause cause) {
        on(new GrantMachine.TakenAway(cause));
    }

    /** Somebody says that an operator took it: the store is asked at once. */
    void suspectTakenAway() {
        on(new GrantMachine.SuspectedForce());
    }

    /** Nothing is known of it until a renewal succeeds. */
    void suspended() {
        on(new GrantMachine.Suspended());
    }

    void contactLost() {
        on(new GrantMachine.ContactLost());
    }

    private void tellAtRisk(Duration remaining) {
        ActiveLease lease = currentLease();
        if (lease != null) {
            lease.atRisk(remaining);
        }
    }

    private void tellAbandoned(LossCause cause) {
        ActiveLease lease = currentLease();
        if (lease != null) {
            lease.abandoned(cause);
        }
    }

    private void tellLost(LossCause cause) {
        disarm();
        wiring.holds().remove(grant.owner(), this);
        Futures.guarded("the news of a loss", () -> tellItsLease(cause));
        finishRenewalsByHand(null);
        desks.ended(name, this);
    }

    private void tellItsLease(LossCause cause) {
        ActiveLease lease;
        List<NodeVote> said;
        synchronized (this) {
            lease = current;
            said = votes;
        }
        if (lease != null) {
            lease.lost(cause, said);
        }
    }

    // ---- release and hand-over

    /** The holder of this lease gives it back: passed on within the process if that is allowed, else released. */
    void release(ActiveLease lease) {
        synchronized (this) {
            givenBack = lease;
        }
        if (!isKept(lease)) {
            giveBack(lease);
        }
    }

    private void giveBack(ActiveLease lease) {
        if (!isPassedOn(lease)) {
            takeBack(lease);
            on(new GrantMachine.ReleaseCalled());
        }
    }

    /** Its holder is done, and the lock is given back when {@link LockOptions#atLeast()} has passed. */
    private boolean isKept(ActiveLease lease) {
        if (options.atLeast().isZero()) {
            return false;
        }
        try {
            return keep(lease);
        } catch (RuntimeException | Error e) {
            LOG.error("lock \"{}\" could not be kept for {}; it is released", name, options.atLeast(), e);
            return false;
        }
    }

    private boolean keep(ActiveLease lease) {
        long untilAtNanos = lease.keptUntilAtNanos();
        synchronized (this) {
            if (!machine.isHeld() || untilAtNanos - wiring.runtime().nanoTime() <= 0) {
                return false;
            }
            holdingThread = null;
        }
        wiring.timeline().scheduleAt(untilAtNanos, () -> giveBack(lease));
        lease.released(ReleaseOutcome.KEPT, List.of());
        return true;
    }

    /** What must stay taken is left to its ttl, however it was lost, unless an operator has ended it. */
    private boolean isLeftToItsTtl(LossCause lost) {
        ActiveLease lease = options.atLeast().isZero() ? null : currentLease();
        return lost != LossCause.FORCE_RELEASED
                && lease != null
                && lease.keptUntilAtNanos() - wiring.runtime().nanoTime() > 0;
    }

    /** An Error on the way to the next holder does not keep the release from the store. */
    private boolean isPassedOn(ActiveLease lease) {
        try {
            return passOn(lease);
        } catch (RuntimeException | Error e) {
            LOG.error("lock \"{}\" could not be passed on within the process; it is released", name, e);
            return false;
        }
    }

    private boolean passOn(ActiveLease lease) {
        while (mayPassOn()) {
            AcquireAttempt next = desks.firstInLine(name);
            if (next == null || !options.equals(next.options())) {
                return false;
            }
            ActiveLease passed;
            synchronized (this) {
                if (suspensionsSeen != wiring.suspensions().suspensions()
                        || machine.remainingNanos(wiring.runtime().nanoTime()) == 0) {
                    return false;
                }
                passed = mint();
            }
            switch (next.handOver(passed)) {
                case ACCEPTED -> {
                    Futures.guarded("the end of a lease that was passed on", lease::passedOn);
                    return true;
                }
                case GONE -> desks.leave(next);
                case CONTENDING -> {
                    return false;
                }
            }
        }
        return false;
    }

    /** Nobody took what was minted: the lease that is being released is the current one again. Its token is not reused. */
    private synchronized void takeBack(ActiveLease lease) {
        current = lease;
    }

    private boolean mayPassOn() {
        lookForSuspension();
        return mayPassOnNow();
    }

    private synchronized boolean mayPassOnNow() {
        long nowNanos = wiring.runtime().nanoTime();
        return mayBePassedOn(nowNanos)
                && nextToken <= grant.tokens().last()
                && machine.remainingNanos(nowNanos) >= Math.max(1, timings.minimumValidityNanos());
    }

    private boolean mayBePassedOn(long nowNanos) {
        return timings.renewed()
                && options.fairness() == Fairness.BOUNDED_LOCAL_HAND_OVER
                && nowNanos - grantedAtNanos < Timings.HAND_OVER_NANOS;
    }

    /** For how long local waiters with these options may still hope for a hand-over; zero if they may not. */
    synchronized long handOverNanos(LockOptions wanted) {
        long nowNanos = wiring.runtime().nanoTime();
        boolean possible = options.equals(wanted)
                && machine.isHeld()
                && mayBePassedOn(nowNanos)
                && nextToken <= grant.tokens().last();
        return possible ? grantedAtNanos + Timings.HAND_OVER_NANOS - nowNanos : 0;
    }

    /** The undoer has it before the holds forget it: a client that closes waits for what it finds with either. */
    private void sendRelease(@Nullable LossCause lost) {
        disarm();
        finishRenewalsByHand(this::releasedMeanwhile);
        if (lost != null) {
            if (lost != LossCause.NOT_OURS && !isLeftToItsTtl(lost)) {
                // Also after an expiry: the holder is done, so nothing is lost by freeing what may be left.
                end(ReleaseRequest.Kind.UNDO);
            }
            leaveToEnd();
            return;
        }
        long validUntilAtNanos = machine.validUntilAtNanos();
        try {
            end(ReleaseRequest.Kind.RELEASE)
                    .thenAccept(reply -> finish(outcome(reply, validUntilAtNanos), reply.votes()));
        } finally {
            // Also if it could not be sent: it ends with its ttl, and is held by nobody.
            wiring.holds().remove(grant.owner(), this);
            desks.ended(name, this);
        }
    }

    /** Its loss has told everybody and disarmed everything. */
    private void leaveToEnd() {
        finish(ReleaseOutcome.ALREADY_LOST, List.of());
    }

    /** Both, for a client that closes may have come between the minting of a lease and its acceptance. */
    private void finish(ReleaseOutcome outcome, List<NodeVote> said) {
        ActiveLease last;
        ActiveLease asked;
        synchronized (this) {
            last = current;
            asked = givenBack;
        }
        if (last != null) {
            last.released(outcome, said);
        }
        if (asked != null && asked != last) {
            asked.released(outcome, said);
        }
    }

    private CompletableFuture<ReleaseReply> end(ReleaseRequest.Kind kind) {
        ReleaseRequest request =
                new ReleaseRequest(List.of(name), grant.owner(), highestBallot, kind, timings.answerNanos());
        return wiring.undoer().end(request, timings.undoNanos()).firstReply();
    }

    private ReleaseOutcome outcome(ReleaseReply reply, long validUntilAtNanos) {
        if (reply instanceof ReleaseReply.Released) {
            return ReleaseOutcome.RELEASED;
        }
        boolean inTime = wiring.runtime().nanoTime() - validUntilAtNanos < 0;
        return reply instanceof ReleaseReply.NotOurs && inTime
                ? ReleaseOutcome.ALREADY_LOST
                : ReleaseOutcome.UNCONFIRMED;
    }

    /** The client closes: the holder is told. */
    void clientClosing() {
        takenAway(LossCause.CLIENT_CLOSED);
    }

    /** The client closes, and if the holder has not given it back, it is ended at the store all the same. */
    void endAtClose() {
        on(new GrantMachine.Deserted());
    }

    /** Whether a thread other than this one opened the current lease and is there to give it back. */
    boolean awaitsOtherThan(Thread thread) {
        ActiveLease lease = currentLease();
        return lease != null && lease.isOpenedByOtherThan(thread);
    }

    /** Whether the current lease was not given back, and its thread, if one is known, is there to do it. */
    boolean awaitsAnybody() {
        ActiveLease lease = currentLease();
        return lease != null && lease.isToBeReleased();
    }

    /** Whether this thread opened the current lease, which lasts until it is released, and is alone with it. */
    boolean waitsForEver(Thread thread) {
        ActiveLease lease;
        synchronized (this) {
            lease = machine.isHeld() && timings.renewed() ? current : null;
        }
        return lease != null && lease.isOnlyFor(thread);
    }

    /** The current lease, as the client's record tells of it. */
    ClientRecord.ClientHold asClientHold() {
        ActiveLease lease;
        long renewed;
        synchronized (this) {
            lease = current;
            renewed = renewals;
        }
        LockRuntime runtime = wiring.runtime();
        long heldMillis = lease == null
                ? (runtime.nanoTime() - grantedAtNanos) / 1_000_000
                : lease.heldFor().toMillis();
        return new ClientRecord.ClientHold(
                name.text(),
                lease == null ? "" : lease.openerName(),
                Instant.ofEpochMilli(runtime.wallMillis() - heldMillis),
                renewed);
    }

    /** The current lease, for people. */
    Holder asHolder() {
        synchronized (this) {
            ActiveLease lease = current;
            OptionalLong token = lease == null ? OptionalLong.empty() : OptionalLong.of(lease.token());
            long leftNanos = machine.remainingNanos(wiring.runtime().nanoTime());
            return new Holder(wiring.holderId(), Duration.ofNanos(leftNanos), token);
        }
    }
}
