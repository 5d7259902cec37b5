package io.leasehold.shedlock;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * ShedLock's locks as renewed leases, at every store.
 *
 * <pre>{@code
 * LockProvider lockProvider(LockClient client) {
 *     return LeaseholdLockProvider.over(client);
 * }
 * }</pre>
 *
 * <p><b>Guarantee.</b> A lock is held from {@link #lock} until it is unlocked, and not before {@code lockAtLeastFor} and not after {@code
 * lockAtMostFor} has passed. The store is told the client's ttl, and the lease is renewed meanwhile: a process that dies blocks
 * its jobs for one ttl (30 seconds) and not for {@code lockAtMostFor}. A process that cannot reach the store for a ttl loses the lock;
 * {@link LeaseholdSimpleLock#lease()} tells it, and its fencing token lets a resource refuse it. {@code lockAtLeastFor} outlives a process
 * that ends for one ttl at the most.
 *
 * <p><b>Threads.</b> Any thread may use it. An interrupt while the store is asked counts as a lock that is held by another
 * process; the flag is kept.
 *
 * <p><b>Errors.</b> {@link io.leasehold.LockStoreException} if the store cannot serve.
 */
public final class LeaseholdLockProvider implements ExtensibleLockProvider {

    /** Above every lockAtMostFor; the lock's own end counts. */
    private static final Duration WHOLE_YEAR = Duration.ofDays(365);

    private final LockClient client;
    private final UnaryOperator<LockOptions> change;

    private LeaseholdLockProvider(LockClient client, UnaryOperator<LockOptions> change) {
        this.client = client;
        this.change = change;
    }

    /** Over a client, which stays the caller's: it has to stay open as long as locks are held. */
    public static LeaseholdLockProvider over(LockClient client) {
        return new LeaseholdLockProvider(Objects.requireNonNull(client, "client"), UnaryOperator.identity());
    }

    /** The same, with other options; {@code maxHold} and {@code atLeast} are ShedLock's to say. */
    public LeaseholdLockProvider with(UnaryOperator<LockOptions> change) {
        return new LeaseholdLockProvider(client, Objects.requireNonNull(change, "change"));
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        long askedAtNanos = System.nanoTime();
        Duration atMost = Duration.between(ClockProvider.now(), configuration.getLockAtMostUntil());
        Duration atLeast = Duration.between(ClockProvider.now(), configuration.getLockAtLeastUntil());
        if (atMost.isNegative() || atMost.isZero()) {
            return Optional.empty();
        }
        DistributedLock lock = client.named(configuration.getName())
                .with(standard -> change.apply(standard)
                        .maxHold(WHOLE_YEAR)
                        .atLeast(atLeast.isNegative() ? Duration.ZERO : atLeast));
        try {
            Lease lease = lock.tryAcquire(Duration.ZERO);
            return lease == null
                    ? Optional.empty()
                    : Optional.of(LeaseholdSimpleLock.held(configuration, lease, askedAtNanos + atMost.toNanos()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
