package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.LockListener;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The renewals of one grant: passes their answers to the machine of the grant, notifies the listeners, and answers the
 * callers that requested a renewal.
 *
 * <p>{@code this} guards the fields that change.
 */
final class GrantRenewals implements RenewalBatcher.Renewable {

    private final HeldGrant grant;
    /** Whether the next renewal completes a hand-over, as a part of the acquisition: it is no news if it succeeds. */
    private boolean completing;

    private List<CompletableFuture<Void>> askedFor = List.of();
    /** The answer to the last renewal, if it did not succeed. */
    private RenewReply.@Nullable Item refusal;

    private int count;
    /** Whether the timed task of the grant is armed for the next renewal; guarded by the grant. */
    private boolean armed;
    /** How much earlier that renewal may be sent with others; guarded by the grant. */
    private long togetherNanos;
    /** The thread that holds the lease; once it has died, no holder is left to release the lease. */
    private volatile @Nullable Thread holdingThread;

    private FlightEvents.@Nullable Renewal recording;

    /**
     * Creates the renewals of a grant.
     *
     * @param completing whether the grant has begun from a message
     */
    GrantRenewals(HeldGrant grant, boolean completing) {
        this.grant = grant;
        this.completing = completing;
    }

    /** Returns how often the store has extended the grant. */
    synchronized int count() {
        return count;
    }

    /** Returns the nodes' answers to the last renewal, if it did not succeed. */
    synchronized List<NodeVote> votes() {
        return refusal == null ? List.of() : refusal.votes();
    }

    /** Returns the reason why the last renewal failed, if it did. */
    synchronized @Nullable Throwable failure() {
        return refusal instanceof RenewReply.Failed failed ? failed.error() : null;
    }

    void armed(boolean forRenewal, long mayBeEarlierByNanos) {
        armed = forRenewal;
        togetherNanos = mayBeEarlierByNanos;
    }

    void disarmed() {
        armed = false;
    }

    boolean isArmed() {
        return armed;
    }

    /** Returns how much earlier than armed the next renewal may be sent. */
    long leewayNanos(boolean withOthers) {
        return !armed
                ? 0
                : withOthers ? togetherNanos : grant.settings().timings().batchingNanos();
    }

    void bindTo(@Nullable Thread thread) {
        holdingThread = thread;
    }

    /** Runs the check that is due. It arms the next renewal. */
    void due() {
        Futures.guarded("the check for leaks", grant.context().leaks()::report);
        Thread thread = holdingThread;
        if (thread != null && !thread.isAlive()) {
            grant.on(new GrantMachine.Abandoned(LossCause.THREAD_DIED));
        }
        grant.currentLease().renewalDue();
        grant.on(new GrantMachine.RenewDue(false));
    }

    /** Requests a renewal now; the future completes with its answer. */
    CompletableFuture<Void> ask() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        grant.checkForSuspension();
        synchronized (this) {
            askedFor = new ArrayList<>(askedFor);
            askedFor.add(future);
        }
        grant.on(new GrantMachine.RenewDue(true));
        if (!grant.isHeld()) {
            releasedMeanwhile();
        }
        return future;
    }

    @Override
    public boolean beginSending() {
        return grant.ask(GrantMachine::beginSending);
    }

    @Override
    public boolean isUrgent() {
        return grant.isUrgent();
    }

    @Override
    public RenewBatch.Item item() {
        WaitSettings settings = grant.settings();
        return new RenewBatch.Item(
                grant.name(), grant.owner(), settings.timings().toldNanos(), settings.nodeTimeoutNanos());
    }

    @Override
    public long answerNanos() {
        return grant.settings().timings().answerNanos();
    }

    @Override
    public void sent() {
        // This is the first step, since a release may wait for it.
        grant.on(new GrantMachine.RenewalSent());
        FlightEvents.Renewal begun = FlightEvents.renewalBegun();
        synchronized (this) {
            recording = begun;
        }
    }

    @Override
    public void answered(RenewReply.Item answer) {
        Duration headroom;
        List<GrantMachine.Action> actions;
        boolean completes = false;
        try {
            // The request may have been sent before a suspension that was not detected yet.
            grant.checkForSuspension();
            headroom = Duration.ofNanos(grant.remainingNanos());
            synchronized (this) {
                boolean isRenewed = answer instanceof RenewReply.Renewed;
                refusal = isRenewed ? null : answer;
                completes = completing && isRenewed;
                completing = false;
                recording = completes ? null : recording;
                count += isRenewed && !completes ? 1 : 0;
            }
            actions = grant.decide(eventOf(answer));
        } catch (RuntimeException | Error e) {
            // An answer that cannot be processed confirms nothing; the next renewal is armed nevertheless.
            try {
                refused(new RenewReply.Failed(unprocessed(answer, e)));
            } finally {
                grant.on(new GrantMachine.RenewFailed());
            }
            finish(() -> unprocessed(answer, e));
            throw e;
        }
        grant.perform(actions);
        if (!completes) {
            Futures.guarded("the news of a renewal", () -> tell(outcomeOf(answer), headroom));
        }
        if (answer instanceof RenewReply.Failed failed) {
            finish(failed::error);
        } else if (answer instanceof RenewReply.NotOurs || !grant.ask(GrantMachine::isUnconfirmed)) {
            // Otherwise, the request was sent before a suspension: it proves nothing, and another one is in flight or
            // armed.
            finish(null);
        }
    }

    private synchronized void refused(RenewReply.Item answer) {
        refusal = answer;
    }

    private StoreUnavailableException unprocessed(RenewReply.Item answer, Throwable error) {
        String message = "the answer to a renewal of \"" + grant.name() + "\" could not be processed: " + error;
        return new StoreUnavailableException(message, answer.votes(), error);
    }

    private static GrantMachine.Event eventOf(RenewReply.Item answer) {
        if (answer instanceof RenewReply.Renewed renewed) {
            return new GrantMachine.Renewed(renewed.sentAtNanos());
        }
        return answer instanceof RenewReply.NotOurs ? new GrantMachine.Denied() : new GrantMachine.RenewFailed();
    }

    private static RenewalOutcome outcomeOf(RenewReply.Item answer) {
        if (answer instanceof RenewReply.Renewed) {
            return RenewalOutcome.RENEWED;
        }
        return answer instanceof RenewReply.NotOurs ? RenewalOutcome.NOT_OURS : RenewalOutcome.FAILED;
    }

    private void tell(RenewalOutcome outcome, Duration headroom) {
        ActiveLease lease = grant.currentLease();
        FlightEvents.Renewal recorded;
        synchronized (this) {
            recorded = recording;
            recording = null;
        }
        if (recorded != null) {
            recorded.ended(grant.name(), lease.token(), outcome, headroom);
        }
        Duration ttl = Duration.ofNanos(grant.settings().timings().ttlNanos());
        grant.context()
                .events()
                .tell(l -> l.renewed(new LockListener.Renewed(grant.name(), lease.token(), outcome, headroom, ttl)));
    }

    void refused(LossCause why) {
        finish(() -> new IllegalStateException("lease on \"" + grant.name() + "\" is no longer renewed (" + why
                + ", maxHold = "
                + Durations.text(Duration.ofNanos(grant.settings().timings().maxHoldNanos()))
                + "); it ends with its validity"));
    }

    void releasedMeanwhile() {
        finish(() -> new IllegalStateException("lease on \"" + grant.name() + "\" was released during its renewal"));
    }

    /** Answers the callers: with the loss, if the lease is lost, else with the error, if any, else with success. */
    void finish(@Nullable Supplier<RuntimeException> error) {
        List<CompletableFuture<Void>> waiting;
        List<NodeVote> said;
        synchronized (this) {
            said = votes();
            waiting = askedFor;
            askedFor = List.of();
        }
        // Read the cause after the callers were taken: a caller that asked after a loss must not receive an earlier
        // success.
        LossCause lost = grant.ask(GrantMachine::cause);
        if (lost != null && !waiting.isEmpty()) {
            grant.currentLease().lossReported();
        }
        for (CompletableFuture<Void> future : waiting) {
            if (lost != null) {
                future.completeExceptionally(LeaseMessages.lost(
                        grant.name(), lost, said, grant.context().store().description()));
            } else if (error != null) {
                future.completeExceptionally(error.get());
            } else {
                future.complete(null);
            }
        }
    }
}
