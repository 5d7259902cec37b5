package io.leasehold.engine;

import io.leasehold.LockListener;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The renewals of one grant: passes their answers to its machine, tells the listeners, and answers the callers that asked for one.
 *
 * <p>Fields that change are guarded by {@code this}; the lock order is renewals → grant.
 */
final class GrantRenewals implements RenewalBatcher.Renewable {

    private final HeldGrant grant;
    private final OwnerToken owner;
    private final long nodeTimeoutNanos;
    private List<CompletableFuture<Void>> askedFor = List.of();
    /** What the nodes said to the last renewal, if it did not succeed. */
    private List<NodeVote> votes = List.of();

    private long count;
    /** Once it has died, there is no holder left to release the lease. */
    private volatile @Nullable Thread holdingThread;

    private LockRuntime.@Nullable Timer timer;
    private FlightEvents.@Nullable Renewal recording;

    GrantRenewals(HeldGrant grant, OwnerToken owner, long nodeTimeoutNanos) {
        this.grant = grant;
        this.owner = owner;
        this.nodeTimeoutNanos = nodeTimeoutNanos;
    }

    /** How often the store has extended the grant. */
    synchronized long count() {
        return count;
    }

    synchronized List<NodeVote> votes() {
        return votes;
    }

    void bindTo(@Nullable Thread thread) {
        holdingThread = thread;
    }

    synchronized void arm(long atNanos) {
        if (grant.isHeld()) {
            TimerQueue.cancelled(timer);
            timer = grant.context().timeline().scheduleAt(atNanos, this::due);
        }
    }

    synchronized void disarm() {
        timer = TimerQueue.cancelled(timer);
    }

    private void due() {
        Futures.guarded("looking for leaks", grant.context().leaks()::report);
        Thread thread = holdingThread;
        if (thread != null && !thread.isAlive()) {
            grant.abandon(LossCause.THREAD_DIED);
        }
        grant.on(new GrantEvent.RenewDue(false));
    }

    /** Asks for a renewal now; the future completes with its answer. */
    CompletableFuture<Void> ask() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        grant.lookForSuspension();
        synchronized (this) {
            askedFor = new ArrayList<>(askedFor);
            askedFor.add(future);
        }
        grant.on(new GrantEvent.RenewDue(true));
        if (!grant.isHeld()) {
            releasedMeanwhile();
        }
        return future;
    }

    @Override
    public boolean beginSending() {
        return grant.beginSending();
    }

    @Override
    public RenewBatch.Item item() {
        return new RenewBatch.Item(grant.name(), owner, grant.timings().toldNanos(), nodeTimeoutNanos);
    }

    @Override
    public long answerNanos() {
        return grant.timings().answerNanos();
    }

    @Override
    public void sent() {
        // First: a release may wait for it.
        grant.on(new GrantEvent.RenewalSent());
        FlightEvents.Renewal begun = FlightEvents.renewalBegun();
        synchronized (this) {
            recording = begun;
        }
    }

    @Override
    public void answered(RenewReply.Item answer) {
        Duration headroom;
        List<GrantAction> actions;
        try {
            // The request may have left before a suspension that nothing has noticed yet.
            grant.lookForSuspension();
            headroom = Duration.ofNanos(grant.remainingNanos());
            synchronized (this) {
                votes = answer.votes();
                count += answer instanceof RenewReply.Renewed ? 1 : 0;
            }
            actions = grant.decide(eventOf(answer));
        } catch (RuntimeException | Error e) {
            // What cannot be looked at confirms nothing; the next renewal is armed all the same.
            grant.on(new GrantEvent.RenewFailed());
            finish(() -> new StoreUnavailableException(
                    "the answer to a renewal of \"" + grant.name() + "\" could not be taken in: " + e, e));
            throw e;
        }
        grant.perform(actions);
        Futures.guarded("the news of a renewal", () -> tell(outcomeOf(answer), headroom));
        if (answer instanceof RenewReply.Failed failed) {
            finish(failed::error);
        } else if (answer instanceof RenewReply.NotOurs || !grant.isUnconfirmed()) {
            // Otherwise it left before a suspension: it says nothing, and another one is on its way or armed.
            finish(null);
        }
    }

    private static GrantEvent eventOf(RenewReply.Item answer) {
        if (answer instanceof RenewReply.Renewed renewed) {
            return new GrantEvent.Renewed(renewed.sentAtNanos());
        }
        return answer instanceof RenewReply.NotOurs ? new GrantEvent.Denied() : new GrantEvent.RenewFailed();
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
        Duration ttl = Duration.ofNanos(grant.timings().ttlNanos());
        grant.context()
                .events()
                .tell(l -> l.renewed(new LockListener.Renewed(grant.name(), lease.token(), outcome, headroom, ttl)));
    }

    void refused(LossCause why) {
        finish(() -> new IllegalStateException("lease on \"" + grant.name() + "\" is renewed no more (" + why
                + ", maxHold = " + Duration.ofNanos(grant.timings().maxHoldNanos()) + "); it ends with its validity"));
    }

    void releasedMeanwhile() {
        finish(() -> new IllegalStateException("lease on \"" + grant.name() + "\" was released during its renewal"));
    }

    /** Answers the callers: with the loss, if there is one, else with the error, else with success. */
    void finish(@Nullable Supplier<RuntimeException> error) {
        List<CompletableFuture<Void>> waiting;
        List<NodeVote> said;
        synchronized (this) {
            said = votes;
            waiting = askedFor;
            askedFor = List.of();
        }
        // After the callers were taken: one that asked after a loss is not told of a success before it.
        LossCause lost = grant.cause();
        if (lost != null && !waiting.isEmpty()) {
            grant.currentLease().heardOfLoss();
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
