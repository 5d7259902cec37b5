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
 * The programmatic form of {@link Locked}: with the same commit guard, the same release after a transaction of the
 * caller, and the same exceptions.
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

    /** Creates a template for a client, with {@link LeaseholdSettings#defaults()}. */
    public LeaseholdTemplate(LockClient client) {
        this(client, LeaseholdSettings.defaults());
    }

    /** Creates a template for a client. */
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

    /** Returns this template with other options for its locks, in addition to those of earlier calls. */
    public LeaseholdTemplate with(UnaryOperator<LockOptions> change) {
        Objects.requireNonNull(change, "change");
        UnaryOperator<LockOptions> before = this.change;
        return new LeaseholdTemplate(
                client, settings, options -> change.apply(before.apply(options)), onLoss, observations);
    }

    /** Returns this template with another treatment of the work after a loss. */
    public LeaseholdTemplate onLoss(OnLoss onLoss) {
        return new LeaseholdTemplate(client, settings, change, Objects.requireNonNull(onLoss, "onLoss"), observations);
    }

    /** Returns this template with an observation for each wait for a lock. */
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

    /** As {@link #call(LockName, Duration, LockedWork)}, with a separate result if the lock stayed busy. */
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
            @SuppressWarnings("unchecked") // every other exception comes from the work
            X ofWork = (X) e;
            throw ofWork;
        }
    }

    /** The result of the work or of its replacement, which is null only if T allows it. */
    @SuppressWarnings({"unchecked", "NullAway", "TypeParameterUnusedInFormals"})
    private <T extends @Nullable Object> T uncheckedResult(@Nullable Object result) {
        return (T) result;
    }
}
