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
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A lock by its name: stateless; each acquiring method puts one {@link Waiter} in line. */
final class NamedLock implements DistributedLock {

    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

    private final LockName name;
    private final LockOptions options;
    private final EngineClient client;

    NamedLock(LockName name, LockOptions options, EngineClient client) {
        this.name = name;
        this.options = options;
        this.client = client;
    }

    @Override
    public LockName name() {
        return name;
    }

    @Override
    public LockOptions options() {
        return options;
    }

    @Override
    public DistributedLock with(UnaryOperator<LockOptions> change) {
        return new NamedLock(name, Objects.requireNonNull(change.apply(options), "options"), client);
    }

    @Override
    public ReentrantLockView asReentrantLock() {
        return new ReentrantView(this, client.reentrantHolds());
    }

    @Override
    public Lease acquire() throws InterruptedException {
        return attempt(FOR_EVER).orElseThrow();
    }

    @Override
    public @Nullable Lease tryAcquire(Duration maxWait) throws InterruptedException {
        return attempt(maxWait).orElseNull();
    }

    @Override
    public Attempt<Lease> attempt(Duration maxWait) throws InterruptedException {
        long maxWaitNanos = patience(maxWait);
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted before lock \"" + name + "\" was asked for");
        }
        Waiter waiter = client.enter(name, options, maxWaitNanos);
        try {
            client.runtime().await(waiter.result());
        } catch (InterruptedException e) {
            waiter.giveUp();
            throw e;
        }
        return Edge.result(waiter.result());
    }

    /** Waits without limit; an interrupt is kept for later. */
    Lease acquireUninterruptibly() {
        return Edge.join(
                        client.runtime(),
                        client.enter(name, options, patience(FOR_EVER)).result())
                .orElseThrow();
    }

    /** One round trip; an interrupt is kept for later. */
    @Nullable
    Lease tryAcquireUninterruptibly() {
        return Edge.join(client.runtime(), client.enter(name, options, 0).result())
                .orElseNull();
    }

    @Override
    public CompletableFuture<Lease> acquireAsync() {
        return handOver(patience(FOR_EVER), Attempt::orElseThrow);
    }

    @Override
    public CompletableFuture<Attempt<Lease>> attemptAsync(Duration maxWait) {
        return handOver(patience(maxWait), attempt -> attempt);
    }

    private <T> CompletableFuture<T> handOver(long maxWaitNanos, Function<Attempt<Lease>, T> form) {
        Waiter waiter = client.enter(name, options, maxWaitNanos);
        CompletableFuture<T> handed = new PropagatingFuture<>(waiter::giveUp);
        waiter.result()
                .whenComplete((attempt, error) -> client.runtime().execute(() -> {
                    if (error != null) {
                        handed.completeExceptionally(unwrapped(error));
                    } else if (!handed.complete(form.apply(attempt))
                            && attempt instanceof Attempt.Acquired<Lease> acquired) {
                        acquired.lease().releaseAsync();
                    }
                }));
        return handed;
    }

    @Override
    public <T> CompletableFuture<T> holdWhile(
            Duration maxWait, Function<? super Lease, ? extends CompletionStage<T>> work) {
        Objects.requireNonNull(work, "work");
        CompletableFuture<Lease> acquiring = handOver(patience(maxWait), Attempt::orElseThrow);
        CompletableFuture<T> done = new PropagatingFuture<>(() -> acquiring.cancel(false));
        acquiring.whenComplete((lease, error) -> {
            if (error != null) {
                done.completeExceptionally(unwrapped(error));
            } else {
                runHolding(lease, work, done);
            }
        });
        return done;
    }

    private static <T> void runHolding(
            Lease lease, Function<? super Lease, ? extends CompletionStage<T>> work, CompletableFuture<T> done) {
        CompletionStage<T> stage;
        try {
            stage = Objects.requireNonNull(work.apply(lease), "the work given to holdWhile returned null");
        } catch (Throwable e) {
            stage = CompletableFuture.failedFuture(e);
        }
        stage.whenComplete((value, failure) -> lease.releaseAsync().whenComplete((outcome, ignored) -> {
            if (failure != null) {
                done.completeExceptionally(unwrapped(failure));
            } else {
                done.complete(value);
            }
        }));
    }

    private static Throwable unwrapped(Throwable error) {
        Throwable cause = error.getCause();
        return error instanceof CompletionException && cause != null ? cause : error;
    }

    private long patience(Duration maxWait) {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("maxWait for lock \"" + name + "\" is " + maxWait
                    + "; it must not be negative (zero: one round trip)");
        }
        return Timings.saturatedNanos(maxWait);
    }

    @Override
    public String toString() {
        return "DistributedLock[" + name + " at " + client.storeDescription() + "]";
    }
}
