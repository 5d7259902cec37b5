package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseAtRiskException;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.LockRuntime;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The caller's reference to an {@link ActiveLease}. The engine holds no strong reference to it, so that
 * {@link LeakWatch} detects when the caller has dropped it.
 */
final class LeaseHandle implements Lease, UnseenHold {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private final ActiveLease state;

    LeaseHandle(ActiveLease state, LeakWatch leaks, @Nullable Throwable asked) {
        this.state = state;
        state.watched(leaks.trace(this, state, asked));
    }

    /** Returns the handle behind a lease of this engine. */
    static LeaseHandle of(Lease lease) {
        return lease instanceof PassingLease passing ? passing.lease : (LeaseHandle) lease;
    }

    ActiveLease state() {
        return state;
    }

    /** Marks the lease as one that no caller has seen or will see. */
    @Override
    public CompletableFuture<ReleaseOutcome> giveBackUnseen() {
        state.unseen();
        return Futures.ask(this::releaseAsync);
    }

    @Override
    public void openedBy(Thread thread) {
        state.openedBy(thread);
    }

    @Override
    public @Nullable LeaseLostException lossAtRelease() {
        ReleaseOutcome outcome = state.released().getNow(ReleaseOutcome.UNCONFIRMED);
        return outcome == ReleaseOutcome.ALREADY_LOST ? state.lossFound() : null;
    }

    private LockRuntime runtime() {
        return state.owner().context().runtime();
    }

    @Override
    public LockName lockName() {
        return state.name();
    }

    @Override
    public long fencingToken() {
        return state.token();
    }

    @Override
    public Duration remainingValidity() {
        return state.tellRemaining();
    }

    @Override
    public boolean isValid() {
        return !state.tellRemaining().isZero();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        LeaseAtRiskException atRisk = state.risk(duration);
        if (atRisk != null) {
            ValidityWait.ensure(List.of(state), duration, atRisk);
        }
    }

    @Override
    public CompletionStage<Void> ensureValidForAsync(Duration duration) {
        return ValidityWait.ensureAsync(List.of(state), duration);
    }

    @Override
    public void renew() {
        Futures.join(runtime(), state.renew());
    }

    @Override
    public CompletableFuture<Void> renewAsync() {
        return Futures.onCallbackExecutor(runtime(), state.renew());
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        state.onLost(callback);
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        state.onAtRisk(callback);
    }

    @Override
    public void interruptOnLoss() {
        state.interruptOnLoss(new Interruption());
    }

    @Override
    public CompletionStage<HoldEnd> whenEnded() {
        return state.whenEnded();
    }

    /** Ends a lease that its holder considers lost because nothing has confirmed it, and releases it at the store. */
    void loseUnconfirmed() {
        if (state.cause() == null && state.isUnreleased()) {
            state.owner().on(new GrantMachine.TakenAway(LossCause.EXPIRED));
            Futures.guarded("giving back an unconfirmed hold", this::give);
        }
    }

    /** Releases the lease, as {@link #releaseAsync}, but completes on any thread. */
    CompletableFuture<ReleaseOutcome> give() {
        return state.release();
    }

    @Override
    public ReleaseOutcome release() {
        return Futures.join(runtime(), give());
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return Futures.onCallbackExecutor(runtime(), give());
    }

    @Override
    public LeaseTicket export(Duration claim) {
        return Futures.join(runtime(), state.export(claim));
    }

    @Override
    public CompletableFuture<LeaseTicket> exportAsync(Duration claim) {
        return Futures.onCallbackExecutor(runtime(), state.export(claim));
    }

    /** Sends the release for which {@link #close()} waits. */
    void beginClose() {
        if (state.isUnreleased()) {
            state.closing();
            give();
        }
    }

    @Override
    public void close() {
        try {
            beginClose();
            ReleaseOutcome outcome = Futures.join(runtime(), state.release());
            if (state.isClosing()) {
                state.logUnreportedLoss(outcome);
            }
        } catch (RuntimeException e) {
            LOG.atWarn()
                    .addKeyValue("lock", state.name())
                    .addKeyValue("fencingToken", state.token())
                    .setCause(e)
                    .log("closing the lease on \"{}\" failed; it ends with its ttl", state.name());
        }
    }

    @Override
    public String toString() {
        return "Lease[" + state.name() + ", token " + state.token() + ", valid for "
                + state.remaining().toMillis() + " ms]";
    }
}
