package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A lock by its name: stateless; each acquiring method starts one {@link AcquireAttempt}. */
final class NamedLock implements DistributedLock {

    private final LockName name;
    private final WaitSettings settings;
    private final Attempts attempts;
    private final Acquiring<Lease> acquiring;

    NamedLock(LockName name, WaitSettings settings, Attempts attempts) {
        this.name = name;
        this.settings = settings;
        this.attempts = attempts;
        this.acquiring = new Acquiring<>(
                "lock \"" + name + "\"",
                attempts.runtime(),
                attempts.workers(),
                maxWaitNanos -> attempts.enter(name, settings, maxWaitNanos),
                NamedLock::opened,
                attempts.closeEnds());
    }

    /** Records the thread that waited for the lease: it must not wait for it again without limit. */
    private static void opened(Lease lease) {
        if (lease instanceof LeaseHandle handle) {
            handle.state().openedBy(Thread.currentThread());
        }
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public DistributedLock with(UnaryOperator<LockOptions> change) {
        LockOptions changed = Objects.requireNonNull(change.apply(settings.options()), "options");
        return new NamedLock(name, attempts.settings(changed), attempts);
    }

    @Override
    public ReentrantLockView asReentrantLock() {
        return new ReentrantView(this, attempts.reentrantHolds());
    }

    @Override
    public Lease acquire() throws InterruptedException {
        attempts.refuseSelfWait(name);
        return acquiring.acquire();
    }

    /** As {@link #acquire()}; an interrupt is kept for later. */
    Lease acquireUninterruptibly() {
        attempts.refuseSelfWait(name);
        return acquiring.acquireUninterruptibly();
    }

    /** One round trip; an interrupt is kept for later. */
    @Nullable
    Lease tryAcquireUninterruptibly() {
        return acquiring.tryAcquireUninterruptibly();
    }

    @Override
    public @Nullable Lease tryAcquire(Duration maxWait) throws InterruptedException {
        return acquiring.tryAcquire(maxWait);
    }

    @Override
    public Attempt<Lease> attempt(Duration maxWait) throws InterruptedException {
        return acquiring.attempt(maxWait);
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return acquiring.acquireAsync();
    }

    @Override
    public CompletableFuture<Attempt<Lease>> attemptAsync(Duration maxWait) {
        return acquiring.attemptAsync(maxWait);
    }

    @Override
    public <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super Lease, ? extends CompletionStage<T>> work) {
        return acquiring.holdWhile(maxWait, work);
    }

    @Override
    public String toString() {
        return "DistributedLock[" + name + " at " + attempts.storeDescription() + "]";
    }
}
