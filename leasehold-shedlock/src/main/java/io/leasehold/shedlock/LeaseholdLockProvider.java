package io.leasehold.shedlock;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.Renewal;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Provides ShedLock's locks as leases, at every store; the leases are renewed unless configured otherwise.
 *
 * <pre>{@code
 * LockProvider lockProvider(LockClient client) {
 *     return LeaseholdLockProvider.over(client);
 * }
 * }</pre>
 *
 * <p><b>Guarantee.</b> A lock is held from {@link #lock} until it is unlocked, but at least for {@code lockAtLeastFor}
 * and at most for {@code lockAtMostFor}. The lock has the client's ttl, and the lease is renewed meanwhile: a process
 * that dies blocks its jobs for one ttl (30 seconds) instead of {@code lockAtMostFor}. A process that cannot reach the
 * store for a ttl loses the lock; {@link LeaseholdSimpleLock#lease()} reports the loss, and a resource can refuse its
 * fencing token. {@code lockAtLeastFor} outlives the end of a process by one ttl at most.
 *
 * <p><b>Threads.</b> Any thread may use it. If the thread is interrupted during the request, the lock counts as held by
 * another process; the interrupt flag is kept.
 *
 * <p><b>Errors.</b> {@link io.leasehold.LockStoreException} if the store cannot serve.
 */
public final class LeaseholdLockProvider implements ExtensibleLockProvider {

    /** Above every lockAtMostFor; the lock's own end applies. */
    private static final Duration WHOLE_YEAR = Duration.ofDays(365);

    /** The shortest ttl that every store accepts; below it the lock's own end applies. */
    private static final Duration MIN_TTL = Duration.ofMillis(100);

    private final LockClient client;
    private final UnaryOperator<LockOptions> change;
    private final boolean renewed;

    private LeaseholdLockProvider(LockClient client, UnaryOperator<LockOptions> change, boolean renewed) {
        this.client = client;
        this.change = change;
        this.renewed = renewed;
    }

    /** Creates a provider for a client. The caller closes the client, which must stay open while locks are held. */
    public static LeaseholdLockProvider over(LockClient client) {
        return new LeaseholdLockProvider(Objects.requireNonNull(client, "client"), UnaryOperator.identity(), true);
    }

    /**
     * Returns this provider without renewal, like ShedLock's other providers. A process that dies blocks its jobs until
     * {@code lockAtMostFor} has passed. A lock that is extended beyond its first {@code lockAtMostFor} is renewed from
     * then on. {@code lockAtMostFor} must not exceed the largest ttl of the store.
     */
    public LeaseholdLockProvider unrenewed() {
        return new LeaseholdLockProvider(client, change, false);
    }

    /**
     * Returns this provider with other options, in addition to those of earlier calls. ShedLock sets {@code maxHold}
     * and {@code atLeast}, and the ttl of leases that are not renewed.
     */
    public LeaseholdLockProvider with(UnaryOperator<LockOptions> change) {
        Objects.requireNonNull(change, "change");
        UnaryOperator<LockOptions> before = this.change;
        return new LeaseholdLockProvider(client, options -> change.apply(before.apply(options)), renewed);
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
                .with(standard -> renewal(change.apply(standard), atMost)
                        .maxHold(WHOLE_YEAR)
                        .atLeast(atLeast.isNegative() ? Duration.ZERO : atLeast));
        try {
            Lease lease = lock.tryAcquire(Duration.ZERO);
            return lease == null
                    ? Optional.empty()
                    : Optional.of(
                            LeaseholdSimpleLock.held(configuration, lease, askedAtNanos + atMost.toNanos(), renewed));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    /** The validity of a lease is its ttl less the drift of clocks. */
    private LockOptions renewal(LockOptions options, Duration atMost) {
        if (renewed) {
            return options;
        }
        Duration ttl = atMost.plus(atMost.dividedBy(50)).plusMillis(10);
        return options.ttl(ttl.compareTo(MIN_TTL) < 0 ? MIN_TTL : ttl).renewal(Renewal.none());
    }
}
