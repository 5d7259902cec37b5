package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.ClientLocks;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * {@link Locked} for code: the same commit guard, the same release after a transaction of the caller, the same exceptions.
 *
 * <pre>{@code
 * String receipt = template.call(LockName.of("order:{id}", id), Duration.ofSeconds(3), lease -> pay(id, lease.fencingToken()));
 * }</pre>
 *
 * <p>Immutable; any thread may use it.
 */
public final class LeaseholdTemplate {

    private final LockClient client;
    private final LeaseholdSettings settings;
    private final UnaryOperator<LockOptions> change;
    private final OnLoss onLoss;
    private final ObservationRegistry observations;

    /** Over a client, with {@link LeaseholdSettings#defaults()}. */
    public LeaseholdTemplate(LockClient client) {
        this(client, LeaseholdSettings.defaults());
    }

    /** Over a client. */
    public LeaseholdTemplate(LockClient client, LeaseholdSettings settings) {
        this(
                Objects.requireNonNull(client, "client"),
                Objects.requireNonNull(settings, "settings"),
                UnaryOperator.identity(),
                OnLoss.INTERRUPT,
                ObservationRegistry.NOOP);
    }

    private LeaseholdTemplate(
            LockClient client,
            LeaseholdSettings settings,
            UnaryOperator<LockOptions> change,
            OnLoss onLoss,
            ObservationRegistry observations) {
        this.client = client;
        this.settings = settings;
        this.change = change;
        this.onLoss = onLoss;
        this.observations = observations;
    }

    /** The same, with other options of its locks. */
    public LeaseholdTemplate with(UnaryOperator<LockOptions> change) {
        return new LeaseholdTemplate(client, settings, change, onLoss, observations);
    }

    /** The same, with something else that happens to the work on a loss. */
    public LeaseholdTemplate onLoss(OnLoss onLoss) {
        return new LeaseholdTemplate(client, settings, change, Objects.requireNonNull(onLoss, "onLoss"), observations);
    }

    /** The same, with each wait for a lock as an observation. */
    public LeaseholdTemplate observedBy(ObservationRegistry observations) {
        return new LeaseholdTemplate(
                client, settings, change, onLoss, Objects.requireNonNull(observations, "observations"));
    }

    /**
     * Runs the work while the lock is held.
     *
     * @throws LockBusyException if the lock stayed busy for {@code maxWait}
     * @throws io.leasehold.LeaseLostException if the lease was lost while the work ran
     */
    public <T extends @Nullable Object, X extends Exception> T call(
            LockName name, Duration maxWait, LockedWork<T, X> work) throws X, InterruptedException {
        return call(name, maxWait, work, busy -> {
            throw new LockBusyException(busy.lockName(), busy.waited(), busy.holder(), busy.votes());
        });
    }

    /** As {@link #call(LockName, Duration, LockedWork)}, with a result of its own if the lock stayed busy. */
    public <T extends @Nullable Object, X extends Exception> T call(
            LockName name,
            Duration maxWait,
            LockedWork<T, X> work,
            Function<? super Attempt.Busy<?>, ? extends T> whenBusy)
            throws X, InterruptedException {
        Objects.requireNonNull(work, "work");
        Objects.requireNonNull(whenBusy, "whenBusy");
        DistributedLock lock = client.named(name).with(change);
        LockCall call = new LockCall(
                new AskedLocks(client.holderId(), List.of(name), false),
                lock,
                maxWait,
                ClientLocks.defaultGuard(lock.options()),
                onLoss,
                settings.outerTransaction(),
                hold -> work.run((Lease) hold),
                whenBusy::apply,
                observations,
                interrupt -> interrupt);
        try {
            return this.<T>uncheckedResult(BlockingCalls.run(call));
        } catch (InterruptedException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            @SuppressWarnings("unchecked") // all else that can be thrown is what the work throws
            X ofWork = (X) e;
            throw ofWork;
        }
    }

    /** The result of the work or of what stands in for it, which is null only if T allows it. */
    @SuppressWarnings({"unchecked", "NullAway", "TypeParameterUnusedInFormals"})
    private <T extends @Nullable Object> T uncheckedResult(@Nullable Object result) {
        return (T) result;
    }
}
