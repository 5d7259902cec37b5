package io.leasehold.engine;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.ClientRecord;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A grant that this process holds, with its current lease: performs the actions of its {@link GrantMachine}. As a timed
 * task, it is armed for its next renewal, if one is to come, else for its end.
 *
 * <p>{@code this} guards all fields that change; actions are performed outside of the guard. The lock order is grant →
 * table, queue, timeline.
 */
final class HeldGrant extends TimerQueue.Task implements LeaseReturn.Grant, HoldTable.Held, LocalQueues.Passable {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    /**
     * How long a doubted grant waits for the others that are doubted at the same time; the batch is sent before this
     * time is over.
     */
    private static final long TOGETHER_NANOS = 1_000_000L;

    private final LockName name;
    private final OwnerToken owner;
    private final WaitSettings settings;
    private final EngineContext context;
    private final LocalQueues queues;
    private final GrantMachine machine;
    /** Null if the grant has one token, and no other was ever proposed: its only lease has that token. */
    private final @Nullable GrantTokens tokens;

    private final GrantRenewals renewals;

    /** The number of detected suspensions that were reported to the machine. */
    private int suspensionsSeen;

    private ActiveLease current;
    /**
     * The lease whose holder requested its release last. Until the grant is passed on, that release waits for an
     * outcome.
     */
    private @Nullable ActiveLease givenBack;

    /** Created by the first check that has to wait. */
    private @Nullable GrantChecks checks;

    /**
     * Creates a grant.
     *
     * @param claimNanos the time for which the store keeps the lock, if the grant begins from a message; zero if the
     *     store has granted the ttl
     * @param highestBallot the highest ballot ever proposed under the owner token
     */
    HeldGrant(
            LockName name,
            Grant grant,
            long claimNanos,
            long highestBallot,
            WaitSettings settings,
            EngineContext context,
            LocalQueues queues) {
        this.name = name;
        this.owner = grant.owner();
        this.settings = settings;
        this.context = context;
        this.queues = queues;
        long grantedAtNanos = now();
        this.machine = new GrantMachine(settings.timings(), grant.sentAtNanos(), claimNanos, grantedAtNanos);
        this.tokens = GrantTokens.of(grant.tokens(), highestBallot, settings, grantedAtNanos);
        this.renewals = new GrantRenewals(this, claimNanos > 0);
        this.suspensionsSeen = context.suspensions().suspensions();
        this.current = SharedLease.first(this, tokens == null ? grant.tokens().first() : tokens.draw(), grantedAtNanos);
    }

    long now() {
        return context.runtime().nanoTime();
    }

    /**
     * Registers the grant with the client and the queue, and arms its timers. If that fails, the grant is ended. If the
     * machine was suspended since the request was sent, the first lease begins unconfirmed.
     *
     * @param mark taken from the {@link SuspendWatch} before the request was sent
     * @param asked the stack of the caller, if stacks are recorded
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
            // No caller keeps the grant.
            endAtClose();
            throw e;
        }
    }

    /**
     * Registers the grant in one step: otherwise, an event could end it while the table or the queue does not have it
     * yet and would then keep it.
     */
    private synchronized List<GrantMachine.Action> registered() {
        context.holds().add(owner, this);
        queues.granted(name, this, lastToken());
        return machine.begin(context.random());
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

    /** Reports to the waiters for this action's outcome that the action has failed. */
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
            armRenewal(arm.atNanos(), arm.togetherAtNanos());
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
                // A client that closes waits for an end from the moment of its decision: the end may wait for a renewal
                // that is being sent.
                context.holds().endSent(this);
            }
        }
    }

    private synchronized void armRenewal(long atNanos, long togetherAtNanos) {
        if (machine.isHeld()) {
            boolean isBeforeTheEnd = atNanos - machine.validUntilAtNanos() < 0;
            renewals.armed(isBeforeTheEnd, atNanos - togetherAtNanos);
            context.timeline().arm(this, isBeforeTheEnd ? atNanos : machine.validUntilAtNanos());
        }
    }

    /** Arms the check of the end, unless a renewal comes before it. */
    private synchronized void armEnd(long atNanos) {
        if (machine.isHeld() && !renewals.isArmed()) {
            context.timeline().arm(this, atNanos);
        }
    }

    /** Whether the next renewal is due, rather than the end; from now on, the end is. */
    private synchronized boolean beginRenewalDue() {
        boolean isRenewal = renewals.isArmed();
        renewals.disarmed();
        if (isRenewal) {
            armEnd(machine.validUntilAtNanos());
        }
        return isRenewal;
    }

    /**
     * Runs the check of the next renewal, which arms the one after it, or that of the end: only these report an end
     * that no caller detects. So a check that fails is repeated.
     */
    @Override
    void due() {
        boolean isRenewal = renewals.isArmed();
        try {
            isRenewal = beginRenewalDue();
            if (isRenewal) {
                renewals.due();
            } else {
                on(new GrantMachine.EndDue());
            }
        } catch (RuntimeException | Error e) {
            long againAtNanos = now() + TimerQueue.CHECK_AGAIN_NANOS;
            if (isRenewal) {
                armRenewal(againAtNanos, againAtNanos);
            }
            armEnd(againAtNanos);
            throw e;
        }
    }

    /** A renewal may be early. Without the guard, this may be read for the check of the end, which then runs again. */
    @Override
    long leewayNanos(boolean withOthers) {
        return renewals.leewayNanos(withOthers);
    }

    private synchronized void disarm() {
        renewals.disarmed();
        context.timeline().disarm(this);
    }

    @Override
    public LockName name() {
        return name;
    }

    OwnerToken owner() {
        return owner;
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

    @Override
    public void checkForSuspension() {
        context.suspensions().check();
        noticeSuspension();
    }

    /**
     * Processes a suspension that this or another thread has detected; does nothing if this grant has already processed
     * it.
     */
    @Override
    public void noticeSuspension() {
        List<GrantMachine.Action> actions;
        synchronized (this) {
            int noticed = context.suspensions().suspensions();
            if (noticed == suspensionsSeen) {
                return;
            }
            actions = decide(new GrantMachine.Suspended());
            // The last step: if the machine could not be notified, the next check notifies it.
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

    /**
     * Whether this lease has the validity of the grant. This ends when another lease is current, or its holder has
     * released it.
     */
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

    /** Whether the next renewal must not wait for others to share its request. */
    synchronized boolean isUrgent() {
        return checks != null && !checks.waiting().isEmpty();
    }

    @Override
    public synchronized boolean isHeld() {
        return machine.isHeld();
    }

    @Override
    public synchronized <T extends @Nullable Object> T ask(Function<GrantMachine, T> question) {
        return question.apply(machine);
    }

    synchronized ActiveLease currentLease() {
        return current;
    }

    private void tellLost(LossCause cause) {
        disarm();
        context.holds().remove(owner, this);
        Futures.guarded("the news of a loss", () -> currentLease().lost(cause, renewals.votes()));
        renewals.finish(null);
        queues.ended(name, this);
    }

    // ---- the return of a lease

    @Override
    public void giveBack(ActiveLease lease) {
        synchronized (this) {
            givenBack = lease;
        }
        if (isUrgent()) {
            checks().givenBack();
        }
        new LeaseReturn(this, queues, lease).begin();
    }

    @Override
    public synchronized boolean beginKeeping(GrantMachine.Keeping keeping) {
        // The thread of the lease may die from now on.
        renewals.bindTo(null);
        return machine.isHeld() && keeping.isOn(now());
    }

    @Override
    public void releaseFor(ActiveLease lease) {
        synchronized (this) {
            // Restored, if the lease for the next holder was not taken; the token of that lease is not used again.
            current = lease;
        }
        on(new GrantMachine.ReleaseCalled(lease.keeping()));
    }

    @Override
    public synchronized @Nullable ActiveLease nextToPassOn() {
        boolean isKnown = suspensionsSeen == context.suspensions().suspensions();
        if (!isKnown || tokens == null || !tokens.mayPassOn(machine.remainingNanos(now()), now())) {
            return null;
        }
        current = new ActiveLease(this, tokens.draw(), now());
        renewals.bindTo(null);
        return current;
    }

    /** Reads the lease without the guard: a grant that has one token has the token of its only lease. */
    @Override
    public long lastToken() {
        return tokens == null ? current.token() : tokens.last();
    }

    @Override
    public synchronized long passableNanos(LockOptions wanted) {
        return tokens != null && isHeld() && settings.options().equals(wanted) ? tokens.passableNanos(now()) : 0;
    }

    // ---- the end at the store

    private void end(GrantMachine.End end) {
        disarm();
        renewals.releasedMeanwhile();
        if (end instanceof GrantMachine.SendRelease || end instanceof GrantMachine.SendExport) {
            sendEndOfHeld(end);
            return;
        }
        if (end instanceof GrantMachine.SendUndo) {
            send(ReleaseRequest.Kind.UNDO);
        }
        finish(ReleaseOutcome.ALREADY_LOST, List.of());
    }

    /** Sends the release or the conversion before the table of holds removes the grant: a client that closes waits for both. */
    private void sendEndOfHeld(GrantMachine.End end) {
        try {
            if (end instanceof GrantMachine.SendExport exported) {
                ((Conversion<?>) exported.export())
                        .send(owner, tokens, currentLease().token(), exported.validUntilAtNanos())
                        .thenAccept(outcome -> finish(outcome, List.of()));
            } else {
                send(ReleaseRequest.Kind.RELEASE).thenAccept(reply -> finish(outcome(reply), reply.votes()));
            }
        } finally {
            // Remove it even if the release could not be sent: the grant ends with its ttl, and is no longer held here.
            context.holds().remove(owner, this);
            queues.ended(name, this);
        }
    }

    private CompletableFuture<ReleaseReply> send(ReleaseRequest.Kind kind) {
        return context.retrier()
                .end(List.of(name), owner, GrantTokens.highestBallot(tokens, lastToken()), kind, settings.timings())
                .firstReply();
    }

    /** Returns the outcome for the holder, which waits for it; never throws. */
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
    public long ageNanos() {
        return now() - machine.acquiredAtNanos();
    }

    @Override
    public List<ClientRecord.ClientHold> asClientHolds() {
        return currentLease().asClientHolds(renewals.count());
    }

    @Override
    public Holder asHolder() {
        return currentLease().asHolder(remainingNanos());
    }
}
