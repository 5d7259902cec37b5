package io.leasehold.cli.command;

import io.leasehold.HoldEnd;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.MultiPermit;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/**
 * Several permits as the lease of a run. Its fencing token is the largest of theirs.
 *
 * @param permits the permits
 */
record LeaseOfPermits(MultiPermit permits) implements Lease {

    /** The slots, ascending. */
    List<Integer> slots() {
        return permits.slots();
    }

    /** The tokens of the slots, in their order. */
    List<Long> fencingTokens() {
        return permits.slots().stream().map(permits::fencingToken).toList();
    }

    @Override
    public LockName lockName() {
        return permits.lockName();
    }

    @Override
    public long fencingToken() {
        return fencingTokens().stream().max(Long::compare).orElseThrow();
    }

    @Override
    public LeaseTicket export(Duration claim) {
        throw new UnsupportedOperationException("permits are not exported");
    }

    @Override
    public CompletableFuture<LeaseTicket> exportAsync(Duration claim) {
        return CompletableFuture.failedFuture(new UnsupportedOperationException("permits are not exported"));
    }

    @Override
    public Duration remainingValidity() {
        return permits.remainingValidity();
    }

    @Override
    public boolean isValid() {
        return permits.isValid();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        permits.ensureValidFor(duration);
    }

    @Override
    public CompletionStage<Void> ensureValidForAsync(Duration duration) {
        return permits.ensureValidForAsync(duration);
    }

    @Override
    public void renew() {
        permits.renew();
    }

    @Override
    public CompletableFuture<Void> renewAsync() {
        return permits.renewAsync();
    }

    @Override
    public ReleaseOutcome release() {
        return permits.release();
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return permits.releaseAsync();
    }

    @Override
    public void close() {
        permits.close();
    }

    @Override
    public CompletionStage<HoldEnd> whenEnded() {
        return permits.whenEnded();
    }

    @Override
    public void onLost(Consumer<? super LossCause> callback) {
        permits.onLost(callback);
    }

    @Override
    public void onAtRisk(Consumer<? super Duration> callback) {
        permits.onAtRisk(callback);
    }

    @Override
    public void interruptOnLoss() {
        permits.interruptOnLoss();
    }
}
