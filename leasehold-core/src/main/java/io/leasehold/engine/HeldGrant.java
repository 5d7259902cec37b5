package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A grant that this process holds, with its current lease: performs the actions of its {@link GrantMachine}.
 *
 * <p>All fields that change are guarded by {@code this}; actions are performed outside of it. The lock order is renewals
 * → grant → queue, timeline.
 */
final class HeldGrant implements LeaseOwner, HoldTable.Held, LocalQueues.Passable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long RELEASE_AGAIN_NANOS = 1_000_000_000L;
    /** How long a doubted grant waits for the others that are doubted with it, which are sent before that. */
    private static final long TOGETHER_NANOS = 1_000_000L;

    private final LockName name;
    private final Grant grant;
    /** The highest ballot ever proposed under the owner token, perhaps by a request that may still arrive. */
    private final long highestBallot;

    private final WaitSettings settings;
    private final EngineContext context;
    private final LocalQueues queues;
    private final GrantMachine machine;
    private final GrantTokens tokens;
    private final GrantRenewals renewals;

    /** The number of detected suspensions that the machine was told of. */
    private long suspensionsSeen;

    private ActiveLease current;
    /** The lease whose holder requested its release last; until it is passed on, that release waits for an outcome. */
    private @Nullable ActiveLease givenBack;

    private LockRuntime.@Nullable Timer endTimer;
    /** Created by the first check that has to wait. */
    private @Nullable GrantChecks checks;

    HeldGrant(
            LockName name,
            Grant grant,
            long highestBallot,
            WaitSettings settings,
            EngineContext context,
            LocalQueues queues) {
        this.name = name;
        this.grant = grant;
        this.highestBallot = Math.max(highestBallot, grant.tokens().last());
        this.settings = settings;
        this.context = context;
        this.queues = queues;
        long grantedAtNanos = now();
        this.machine = new GrantMachine(settings.timings(), grant.sentAtNanos(), grantedAtNanos);
        this.tokens = new GrantTokens(grant.tokens(), settings.options(), settings.timings(), grantedAtNanos);
        this.renewals = new GrantRenewals(this, grant.owner());
        this.suspensionsSeen = context.suspensions().suspensions();
        this.current = new ActiveLease(this, tokens.draw(), grantedAtNanos);
    }

    long now() {
        return context.runtime().nanoTime();
    }

    /**
     * Registers the grant with the client and the queue, and arms its timers; it is ended if that fails. If the machine was
     * suspended since the request was sent, the first lease begins unconfirmed.
     *
     * @param mark taken from the {@link SuspendWatch} before the request was sent
     * @param asked the stack of the caller, if that is recorded
     */
    LeaseHandle begin(long mark, @Nullable Throwable asked) {
        ActiveLease first = currentLease();
        try {
            List<GrantMachine.Action> actions = registered();
            context.suspensions().watch();
            context.announcer().watch();
            perform(actions);
            if (context.suspensions().wasSuspendedSince(mark)) {
                on(new GrantMachine.Suspended());
            }
            return new LeaseHandle(first, context.leaks(), asked);
        } catch (RuntimeException | Error e) {
            // No caller keeps it.
            endAtClose();
            throw e;
        }
    }

    /** In one step, so that no event ends the grant while one of the two does not have it yet, and would keep it. */
    private synchronized List<GrantMachine.Action> registered() {
        context.holds().add(grant.owner(), this);
        queues.granted(name, this, grant.tokens().last());
        return machine.begin(grant.sentAtNanos(), context.random());
    }

    @Override
    public void on(GrantMachine.Event event) {
        perform(decide(event));
    }

    synchronized List<GrantMachine.Action> decide(GrantMachine.Event event) {
        boolean wasReleased = machine.isReleased();
        long nowNanos = now();
        List<GrantMachine.Action> actions = machine.on(event, nowNanos);
        if (checks != null) {
            checks.waiting().after(event, machine, nowNanos, actions);
        }
        if (machine.isReleased() && !wasReleased) {
            context.holds().endBegun(this);
        }
        return actions;
    }

    void perform(List<GrantMachine.Action> actions) {
        for (GrantMachine.Action action : actions) {
            try {
                perform(action);
            } catch (RuntimeException | Error e) {
                LOG.error("lock \"{}\": a step of its lease failed unexpectedly", name, e);
                failPending(action);
            }
        }
    }

    /** Tells the waiters for this action's outcome that it has failed. */
    private void failPending(GrantMachine.Action action) {
        if (action instanceof GrantMachine.Renew || action instanceof GrantMachine.Verify) {
            on(new GrantMachine.RenewFailed());
        } else if (action instanceof GrantMachine.End) {
            finish(ReleaseOutcome.UNCONFIRMED, List.of());
        }
    }

    private void perform(GrantMachine.Action action) {
        if (action instanceof GrantMachine.Renew renew) {
            context.renewals()
                    .renew(renewals, renew.byHand() ? 0 : settings.timings().batchingNanos());
        } else if (action instanceof GrantMachine.Verify) {
            context.renewals().renew(renewals, TOGETHER_NANOS);
        } else if (action instanceof GrantMachine.RefuseRenewal refused) {
            renewals.refused(refused.why());
        } else if (action instanceof GrantMachine.ArmRenew arm) {
            renewals.arm(arm.atNanos());
        } else if (action instanceof GrantMachine.ArmEnd arm) {
            armEnd(arm.atNanos());
        } else if (action instanceof GrantMachine.TellAtRisk risk) {
            currentLease().atRisk(Duration.ofNanos(risk.remainingNanos()));
        } else if (action instanceof GrantMachine.TellAbandoned abandoned) {
            currentLease().abandoned(abandoned.cause());
        } else if (action instanceof GrantMachine.TellLost lost) {
            tellLost(lost.cause());
        } else if (action instanceof WaitingChecks.Step step) {
            checks().perform(step);
        } else if (action instanceof GrantMachine.End end) {
            try {
                end(end);
            } finally {
                // A client that closes waits for an end from its decision on: the end may wait for a renewal that is
                // being sent.
                context.holds().endSent(this);
            }
        }
    }

    private synchronized void armEnd(long atNanos) {
        if (machine.isHeld()) {
            TimerQueue.cancelled(endTimer);
            endTimer = context.timeline().scheduleAt(atNanos, this::endDue);
        }
    }

    /** Only this check tells of an end that no caller finds, so a failed check is repeated. */
    private void endDue() {
        try {
            on(new GrantMachine.EndDue());
        } catch (RuntimeException | Error e) {
            armEnd(now() + TimerQueue.CHECK_AGAIN_NANOS);
            throw e;
        }
    }

    private void disarm() {
        renewals.disarm();
        synchronized (this) {
            endTimer = TimerQueue.cancelled(endTimer);
        }
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public WaitSettings settings() {
        return settings;
    }

    @Override
    public EngineContext context() {
        return context;
    }

    @Override
    public long remainingNanos(ActiveLease lease) {
        checkForSuspension();
        synchronized (this) {
            return current == lease ? machine.remainingNanos(now()) : 0;
        }
    }

    synchronized long remainingNanos() {
        return machine.remainingNanos(now());
    }

    void checkForSuspension() {
        context.suspensions().check();
        noticeSuspension();
    }

    /** Processes a suspension that this or another thread has detected; does nothing if it is known here. */
    @Override
    public void noticeSuspension() {
        List<GrantMachine.Action> actions;
        synchronized (this) {
            long noticed = context.suspensions().suspensions();
            if (noticed == suspensionsSeen) {
                return;
            }
            actions = decide(new GrantMachine.Suspended());
            // Last: if the machine could not be told, the next check tells it.
            suspensionsSeen = noticed;
        }
        perform(actions);
    }

    @Override
    public void bindTo(Thread thread) {
        renewals.bindTo(thread);
    }

    @Override
    public CompletableFuture<Void> renewByHand() {
        return renewals.ask();
    }

    private synchronized GrantChecks checks() {
        checks = checks == null ? new GrantChecks(this, machine) : checks;
        return checks;
    }

    @Override
    public void ask(ActiveLease lease, WaitingChecks.Check check) {
        checkForSuspension();
        checks().ask(lease, check);
    }

    /** Whether the validity of the grant is this lease's: no longer once another is current, or its holder has given it back. */
    synchronized boolean isFor(ActiveLease lease) {
        return current == lease && givenBack != lease;
    }

    @Override
    public @Nullable Throwable renewalFailure() {
        return renewals.failure();
    }

    @Override
    public void withdraw(WaitingChecks.Check check) {
        checks().withdraw(check);
    }

    GrantRenewals renewals() {
        return renewals;
    }

    /** Whether its next renewal must not wait for others to share its request. */
    synchronized boolean isUrgent() {
        return checks != null && !checks.waiting().isEmpty();
    }

    synchronized boolean beginSending() {
        return machine.beginSending();
    }

    synchronized boolean isHeld() {
        return machine.isHeld();
    }

    synchronized boolean isUnconfirmed() {
        return machine.isUnconfirmed();
    }

    synchronized @Nullable LossCause cause() {
        return machine.cause();
    }

    synchronized ActiveLease currentLease() {
        return current;
    }

    private void tellLost(LossCause cause) {
        disarm();
        context.holds().remove(grant.owner(), this);
        Futures.guarded("the news of a loss", () -> currentLease().lost(cause, renewals.votes()));
        renewals.finish(null);
        queues.ended(name, this);
    }

    // ---- the return of a lease

    /** It is kept for {@link LockOptions#atLeast()}, then passed on to the next attempt in the process, if that is allowed, else released. */
    @Override
    public void giveBack(ActiveLease lease) {
        synchronized (this) {
            givenBack = lease;
        }
        if (isUrgent()) {
            checks().givenBack();
        }
        Duration atLeast = settings.options().atLeast();
        if (atLeast.isZero() || !Futures.succeeds(name, "kept for " + atLeast, () -> keep(lease))) {
            passOnOrRelease(lease);
        }
    }

    private void passOnOrRelease(ActiveLease lease) {
        if (Futures.succeeds(name, "passed on within the process", () -> passOn(lease))) {
            return;
        }
        try {
            synchronized (this) {
                // Again, if the one for the next holder was not taken; that one's token is not used again.
                current = lease;
            }
            on(new GrantMachine.ReleaseCalled(lease.keeping()));
        } catch (RuntimeException | Error e) {
            // Otherwise it would be renewed for as long as the client lives.
            context.timeline().schedule(RELEASE_AGAIN_NANOS, () -> passOnOrRelease(lease));
            throw e;
        }
    }

    private boolean keep(ActiveLease lease) {
        GrantMachine.Keeping keeping = lease.keeping();
        synchronized (this) {
            // Its thread may die from now on.
            renewals.bindTo(null);
            if (!machine.isHeld() || !keeping.isOn(now())) {
                return false;
            }
        }
        context.timeline().scheduleAt(keeping.fromAtNanos() + keeping.forNanos(), () -> passOnOrRelease(lease));
        lease.released(ReleaseOutcome.KEPT, List.of());
        return true;
    }

    private boolean passOn(ActiveLease lease) {
        while (true) {
            checkForSuspension();
            LocalQueues.Contender next = queues.first(name);
            boolean isAlike = next != null && settings.options().equals(next.options());
            ActiveLease passed = isAlike ? nextToPassOn() : null;
            if (next == null || passed == null) {
                return false;
            }
            switch (next.handOver(passed)) {
                case ACCEPTED -> {
                    Runnable end = () -> lease.released(ReleaseOutcome.RELEASED, List.of());
                    Futures.guarded("the end of a lease that was passed on", end);
                    return true;
                }
                case GONE -> queues.leave(next);
                case CONTENDING -> {
                    return false;
                }
            }
        }
    }

    /** The next lease of the grant; null if it may not be passed on, or the machine was suspended since the last check. */
    private synchronized @Nullable ActiveLease nextToPassOn() {
        boolean isKnown = suspensionsSeen == context.suspensions().suspensions();
        if (!isKnown || !tokens.mayPassOn(machine.remainingNanos(now()), now())) {
            return null;
        }
        current = new ActiveLease(this, tokens.draw(), now());
        renewals.bindTo(null);
        return current;
    }

    @Override
    public synchronized long passableNanos(LockOptions wanted) {
        return machine.isHeld() && settings.options().equals(wanted) ? tokens.passableNanos(now()) : 0;
    }

    // ---- the end at the store

    private void end(GrantMachine.End end) {
        disarm();
        renewals.releasedMeanwhile();
        if (end instanceof GrantMachine.SendRelease) {
            sendRelease();
            return;
        }
        if (end instanceof GrantMachine.SendUndo) {
            send(ReleaseRequest.Kind.UNDO);
        }
        finish(ReleaseOutcome.ALREADY_LOST, List.of());
    }

    /** Sends the release before the table of holds removes the grant: a client that closes waits for both. */
    private void sendRelease() {
        try {
            send(ReleaseRequest.Kind.RELEASE).thenAccept(reply -> finish(outcome(reply), reply.votes()));
        } finally {
            // Even if it could not be sent: it ends with its ttl, and is no longer held here.
            context.holds().remove(grant.owner(), this);
            queues.ended(name, this);
        }
    }

    private CompletableFuture<ReleaseReply> send(ReleaseRequest.Kind kind) {
        return context.retrier()
                .end(List.of(name), grant.owner(), highestBallot, kind, settings.timings())
                .firstReply();
    }

    /** The outcome for the holder, who waits for one: never throws. */
    private synchronized ReleaseOutcome outcome(ReleaseReply reply) {
        try {
            return machine.outcome(reply, now());
        } catch (RuntimeException | Error e) {
            return ReleaseOutcome.UNCONFIRMED;
        }
    }

    /** Finishes both leases, since a client may close between the creation of a lease and its acceptance. */
    private void finish(ReleaseOutcome outcome, List<NodeVote> said) {
        ActiveLease last;
        ActiveLease asked;
        synchronized (this) {
            last = current;
            asked = givenBack;
        }
        last.released(outcome, said);
        if (asked != null && asked != last) {
            asked.released(outcome, said);
        }
    }

    @Override
    public void endAtClose() {
        on(new GrantMachine.Deserted(currentLease().keeping()));
    }

    @Override
    public boolean awaitsOtherThan(Thread thread) {
        return currentLease().isOpenedByOtherThan(thread);
    }

    @Override
    public boolean awaitsAnyThread() {
        return currentLease().isToBeReleased();
    }

    @Override
    public boolean blocksForever(Thread thread) {
        return isHeld() && settings.timings().renewed() && currentLease().isOnlyFor(thread);
    }

    @Override
    public ClientRecord.ClientHold asClientHold() {
        return currentLease().asClientHold(renewals.count());
    }

    @Override
    public Holder asHolder() {
        return currentLease().asHolder(remainingNanos());
    }
}
