package io.leasehold.engine;

import io.leasehold.Attempt;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.MultiLock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Several locks by their names: stateless; each acquiring method starts one {@link MultiAcquire}. */
final class NamedLocks implements MultiLock {

    private final List<LockName> names;
    private final WaitSettings settings;
    private final Attempts attempts;
    private final Acquiring<MultiLease> acquiring;

    NamedLocks(List<LockName> names, WaitSettings settings, Attempts attempts) {
        this.names = names.stream().sorted().distinct().toList();
        this.settings = settings;
        this.attempts = attempts;
        this.acquiring = new Acquiring<>(
                "locks " + this.names,
                attempts.runtime(),
                attempts.workers(),
                this::enter,
                NamedLocks::opened,
                attempts.closeEnds());
    }

    /** Records the thread that waited for the leases: it must not wait for them again without limit. */
    private static void opened(MultiLease lease) {
        if (lease instanceof MultiLeaseHandle handle) {
            handle.openedBy(Thread.currentThread());
        }
    }

    private Pending<MultiLease> enter(long maxWaitNanos) {
        return attempts.enterAll(names, settings, maxWaitNanos);
    }

    @Override
    public List<LockName> names() {
        return names;
    }

    @Override
    public LockOptions options() {
        return settings.options();
    }

    @Override
    public MultiLock with(UnaryOperator<LockOptions> change) {
        LockOptions changed = Objects.requireNonNull(change.apply(settings.options()), "options");
        return new NamedLocks(names, attempts.settings(changed), attempts);
    }

    @Override
    public MultiLease acquire() throws InterruptedException {
        names.forEach(attempts::refuseSelfWait);
        return acquiring.acquire();
    }

    @Override
    public @Nullable MultiLease tryAcquire(Duration maxWait) throws InterruptedException {
        return acquiring.tryAcquire(maxWait);
    }

    @Override
    public Attempt<MultiLease> attempt(Duration maxWait) throws InterruptedException {
        return acquiring.attempt(maxWait);
    }

    @Override
    public CompletableFuture<MultiLease> acquireAsync() {
        return acquiring.acquireAsync();
    }

    @Override
    public CompletableFuture<Attempt<MultiLease>> attemptAsync(Duration maxWait) {
        return acquiring.attemptAsync(maxWait);
    }

    @Override
    public <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super MultiLease, ? extends CompletionStage<T>> work) {
        return acquiring.holdWhile(maxWait, work);
    }

    @Override
    public String toString() {
        return "MultiLock" + names + " at " + attempts.storeDescription();
    }
}
