package io.leasehold.redis;

import io.leasehold.Hold;
import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** A lease without its fencing token. */
final class PlainHold implements Hold {

    private final Lease lease;

    PlainHold(Lease lease) {
        this.lease = lease;
    }

    @Override
    public Duration remainingValidity() {
        return lease.remainingValidity();
    }

    @Override
    public boolean isValid() {
        return lease.isValid();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        lease.ensureValidFor(duration);
    }

    @Override
    public CompletionStage<Void> ensureValidForAsync(Duration duration) {
        return lease.ensureValidForAsync(duration);
    }

    @Override
    public void renew() {
        lease.renew();
    }

    @Override
    public CompletableFuture<Void> renewAsync() {
        return lease.renewAsync();
    }

    @Override
    public ReleaseOutcome release() {
        return lease.release();
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return lease.releaseAsync();
    }

    @Override
    public void close() {
        lease.close();
    }

    @Override
    public CompletionStage<HoldEnd> whenEnded() {
        return lease.whenEnded();
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        lease.onLost(callback);
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        lease.onAtRisk(callback);
    }

    @Override
    public void interruptOnLoss() {
        lease.interruptOnLoss();
    }

    @Override
    public String toString() {
        return "EfficiencyHold[" + lease.lockName() + "]";
    }
}
