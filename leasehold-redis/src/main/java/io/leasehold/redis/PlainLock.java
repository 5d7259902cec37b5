package io.leasehold.redis;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A lock of the engine that hides the fencing tokens of its leases, since they have no meaning here. */
final class PlainLock implements EfficiencyLock {

    private final DistributedLock lock;

    PlainLock(DistributedLock lock) {
        this.lock = lock;
    }

    @Override
    public LockName name() {
        return lock.name();
    }

    @Override
    public LockOptions options() {
        return lock.options();
    }

    @Override
    public EfficiencyLock with(UnaryOperator<LockOptions> change) {
        return new PlainLock(lock.with(change));
    }

    @Override
    public Hold acquire() throws InterruptedException {
        return new PlainHold(lock.acquire());
    }

    @Override
    public @Nullable Hold tryAcquire(Duration maxWait) throws InterruptedException {
        Lease lease = lock.tryAcquire(maxWait);
        return lease == null ? null : new PlainHold(lease);
    }

    @Override
    public Attempt<Hold> attempt(Duration maxWait) throws InterruptedException {
        return plain(lock.attempt(maxWait));
    }

    @Override
    public CompletableFuture<Hold> acquireAsync() {
        return lock.acquireAsync().thenApply(PlainHold::new);
    }

    @Override
    public CompletableFuture<Attempt<Hold>> attemptAsync(Duration maxWait) {
        return lock.attemptAsync(maxWait).thenApply(PlainLock::plain);
    }

    @Override
    public <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super Hold, ? extends CompletionStage<T>> work) {
        return lock.holdWhile(maxWait, lease -> work.apply(new PlainHold(lease)));
    }

    private static Attempt<Hold> plain(Attempt<Lease> attempt) {
        if (attempt instanceof Attempt.Acquired<Lease> acquired) {
            return new Attempt.Acquired<>(new PlainHold(acquired.lease()));
        }
        Attempt.Busy<Lease> busy = (Attempt.Busy<Lease>) attempt;
        return new Attempt.Busy<>(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
    }

    @Override
    public String toString() {
        return "EfficiencyLock[" + lock.name() + "]";
    }
}
