package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import io.leasehold.ReleaseOutcome;
import io.leasehold.admin.ClientRecord;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The lease of a grant to readers. No caller has it: each reader has a {@link ReadShare} of it, with a lease of its own.
 * It passes the news of the grant on to them, and releases the grant when the last of them leaves.
 *
 * <p>{@code this} guards the fields that change; the readers are called without the guard.
 */
// It asks the leases of its readers, which it does outside of its guard.
@SuppressWarnings("UnsynchronizedOverridesSynchronized")
final class SharedLease extends ActiveLease {

    private final ReadShares<ReadShare> shares = new ReadShares<>();
    /** The longest time for which a reader that has left keeps the lock. */
    private GrantMachine.Keeping kept;

    private @Nullable LossCause abandonedFor;
    private HoldEnd.@Nullable Lost loss;
    /** The nodes' answers to the release. */
    private List<NodeVote> releaseVotes = List.of();

    private boolean over;
    private @Nullable Runnable onOver;

    private SharedLease(LeaseOwner grant, long token, long acquiredAtNanos) {
        super(grant, token, acquiredAtNanos);
        this.kept = new GrantMachine.Keeping(acquiredAtNanos, 0);
    }

    /** Returns the first lease of a grant: a shared one for readers, else one for a caller. */
    static ActiveLease first(LeaseOwner grant, long token, long acquiredAtNanos) {
        return grant.name().isRead()
                ? new SharedLease(grant, token, acquiredAtNanos)
                : new ActiveLease(grant, token, acquiredAtNanos);
    }

    /** Returns the lease behind a handle of a read grant. */
    static SharedLease of(LeaseHandle handle) {
        return (SharedLease) handle.state();
    }

    /** Runs the step once the hold is lost or released; at once, if it is. */
    void whenOver(Runnable step) {
        synchronized (this) {
            if (!over) {
                onOver = step;
                return;
            }
        }
        step.run();
    }

    private void over() {
        Runnable step;
        synchronized (this) {
            over = true;
            step = onOver;
            onOver = null;
        }
        if (step != null) {
            Futures.guarded("the end of a shared hold", step);
        }
    }

    // ---- the readers

    /** Announces readers that will receive a share: until then, the hold does not end. */
    synchronized void expect(int readers) {
        shares.expect(readers);
    }

    /** Returns the lease of a reader that was announced. If the hold was lost meanwhile, so is the lease. */
    LeaseHandle shareExpected(@Nullable Throwable asked) {
        ReadShare share;
        HoldEnd.Lost lost;
        try {
            share = newShare();
        } catch (RuntimeException | Error e) {
            ReadShares.Departure rest;
            synchronized (this) {
                rest = shares.expectedNoMore();
            }
            departed(rest);
            throw e;
        }
        synchronized (this) {
            shares.addExpected(share);
            lost = loss;
        }
        LeaseHandle handle = handle(share, asked);
        if (lost != null) {
            share.lease().lost(lost.cause(), lost.votes());
        }
        return handle;
    }

    /** Returns the lease of one more reader; null if the hold has ended or is ending, or has too little validity left. */
    @Nullable
    LeaseHandle share(@Nullable Throwable asked) {
        long leastNanos = Math.max(1, owner().settings().timings().minimumValidityNanos());
        if (owner().remainingNanos(this) < leastNanos) {
            return null;
        }
        ReadShare share = newShare();
        synchronized (this) {
            if (!shares.add(share)) {
                return null;
            }
        }
        return handle(share, asked);
    }

    private ReadShare newShare() {
        return new ReadShare(this, token(), owner().context().runtime().nanoTime());
    }

    private LeaseHandle handle(ReadShare share, @Nullable Throwable asked) {
        try {
            return new LeaseHandle(share.lease(), owner().context().leaks(), asked);
        } catch (RuntimeException | Error e) {
            share.lease().unseen();
            leave(share);
            throw e;
        }
    }

    /** Processes the end of a reader. */
    void leave(ReadShare share) {
        // So that the outcome is that of this moment. Without it, the reader leaves all the same: nothing else removes
        // it.
        Futures.guarded("the check of a shared hold", () -> owner().on(new GrantMachine.EndDue()));
        // Read while the reader still has its share: once it has left, the last one may release the hold.
        boolean isLost = share.lease().cause() != null;
        boolean isHeld = !isLost && owner().isHeld();
        GrantMachine.Keeping keeping = share.lease().keeping();
        ReadShares.Departure departure;
        synchronized (this) {
            kept = later(kept, keeping);
            departure = shares.left(share);
        }
        if (departure == ReadShares.Departure.GONE) {
            return;
        }
        if (departure == ReadShares.Departure.LAST) {
            release()
                    .thenAccept(outcome ->
                            share.lease().released(isLost ? ReleaseOutcome.ALREADY_LOST : outcome, releaseVotes()));
            return;
        }
        share.lease().released(isHeld ? ReleaseOutcome.RELEASED : ReleaseOutcome.ALREADY_LOST, List.of());
        departed(departure);
    }

    private synchronized List<NodeVote> releaseVotes() {
        return releaseVotes;
    }

    private void departed(ReadShares.Departure departure) {
        if (departure == ReadShares.Departure.LAST) {
            release();
        } else if (departure == ReadShares.Departure.ABANDONED_REMAIN) {
            renewNoMore();
        }
    }

    /** Stops the renewals: no reader is left that could release the hold. */
    private void renewNoMore() {
        LossCause cause;
        synchronized (this) {
            cause = abandonedFor;
        }
        if (cause != null) {
            owner().on(new GrantMachine.Abandoned(cause));
        }
    }

    /** The holder of this share is gone. The hold is renewed for the others, if there are any. */
    void abandon(ReadShare share, LossCause cause) {
        boolean isNone;
        synchronized (this) {
            if (loss != null || !shares.abandon(share)) {
                return;
            }
            abandonedFor = cause;
            isNone = shares.isAbandoned();
        }
        Futures.guarded("the report of an abandoned reader", () -> share.lease().abandoned(cause));
        if (isNone) {
            renewNoMore();
        }
    }

    /** Gives up the readers whose thread has died. */
    @Override
    void renewalDue() {
        for (ReadShare share : live()) {
            if (share.isThreadDead()) {
                abandon(share, LossCause.THREAD_DIED);
            }
        }
    }

    private synchronized List<ReadShare> live() {
        return shares.live();
    }

    private boolean isAnyLive(Predicate<ActiveLease> what) {
        return live().stream().anyMatch(share -> what.test(share.lease()));
    }

    private void tell(Consumer<ActiveLease> news) {
        List<ReadShare> all;
        synchronized (this) {
            all = shares.all();
        }
        all.forEach(share -> Futures.guarded("the news of a shared hold", () -> news.accept(share.lease())));
    }

    // ---- as the lease of the grant

    @Override
    boolean isOpenedByOtherThan(Thread thread) {
        return isAnyLive(lease -> lease.isOpenedByOtherThan(thread));
    }

    @Override
    boolean isToBeReleased() {
        return isAnyLive(ActiveLease::isToBeReleased);
    }

    @Override
    boolean isOnlyFor(Thread thread) {
        return isAnyLive(lease -> lease.isOnlyFor(thread));
    }

    /** Whether this thread opened a lease that lasts until it is released, and no other thread has used it. */
    boolean blocksForever(Thread thread) {
        return owner().isHeld() && owner().settings().timings().renewed() && isOnlyFor(thread);
    }

    /** Returns the longest time for which a reader keeps the lock. */
    @Override
    GrantMachine.Keeping keeping() {
        GrantMachine.Keeping longest;
        List<ReadShare> all;
        synchronized (this) {
            longest = kept;
            all = shares.all();
        }
        for (ReadShare share : all) {
            longest = later(longest, share.lease().keeping());
        }
        return longest;
    }

    private static GrantMachine.Keeping later(GrantMachine.Keeping one, GrantMachine.Keeping other) {
        if (other.forNanos() == 0) {
            return one;
        }
        boolean isLater = one.forNanos() == 0 || other.fromAtNanos() - one.fromAtNanos() > 0;
        return isLater ? other : one;
    }

    @Override
    ClientRecord.ClientHold asClientHold(long renewals) {
        List<ReadShare> live = live();
        return live.isEmpty()
                ? super.asClientHold(renewals)
                : live.get(0).lease().asClientHold(renewals);
    }

    /** Returns false: the readers' handles are watched, and no caller has the handle of the grant. */
    @Override
    public boolean isLeaked() {
        return false;
    }

    // ---- the news of the grant

    @Override
    void atRisk(Duration remaining) {
        tell(lease -> lease.atRisk(remaining));
    }

    /** Does nothing: each reader was reported when it was abandoned. */
    @Override
    void abandoned(LossCause why) {}

    /** Does nothing: each reader learns of the loss by its own lease. */
    @Override
    void lossReported() {}

    @Override
    void lost(LossCause why, List<NodeVote> said) {
        synchronized (this) {
            loss = new HoldEnd.Lost(why, said);
            shares.close();
        }
        tell(lease -> lease.lost(why, said));
        over();
    }

    @Override
    void released(ReleaseOutcome outcome, List<NodeVote> said) {
        synchronized (this) {
            shares.close();
            releaseVotes = said;
        }
        // Those that are left when the client closes; the last reader waits for this outcome, too.
        tell(lease -> lease.released(outcome, said));
        released().complete(outcome);
        over();
    }

    @Override
    CompletableFuture<ReleaseOutcome> release() {
        synchronized (this) {
            shares.close();
        }
        return super.release();
    }
}
