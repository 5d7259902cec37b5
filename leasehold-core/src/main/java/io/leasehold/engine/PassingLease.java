package io.leasehold.engine;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A reference to a lease that adds something to it: passes every operation on to its {@link LeaseHandle}. */
abstract class PassingLease implements Lease, UnseenHold {

    final LeaseHandle lease;

    PassingLease(LeaseHandle lease) {
        this.lease = lease;
    }

    @Override
    public CompletableFuture<ReleaseOutcome> giveBackUnseen() {
        return lease.giveBackUnseen();
    }

    @Override
    public void openedBy(Thread thread) {
        lease.openedBy(thread);
    }

    @Override
    public @Nullable LeaseLostException lossAtRelease() {
        return lease.lossAtRelease();
    }

    @Override
    public LockName lockName() {
        return lease.lockName();
    }

    @Override
    public long fencingToken() {
        return lease.fencingToken();
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
    public LeaseTicket export(Duration claim) {
        return lease.export(claim);
    }

    @Override
    public CompletableFuture<LeaseTicket> exportAsync(Duration claim) {
        return lease.exportAsync(claim);
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
}
