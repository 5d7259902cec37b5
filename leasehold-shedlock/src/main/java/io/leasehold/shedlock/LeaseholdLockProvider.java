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
 * ShedLock's locks as leases, at every store; renewed ones unless told otherwise.
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

    /** The shortest that every store takes; the lock's own end counts below it. */
    private static final Duration MIN_TTL = Duration.ofMillis(100);

    private final LockClient client;
    private final UnaryOperator<LockOptions> change;
    private final boolean renewed;

    private LeaseholdLockProvider(LockClient client, UnaryOperator<LockOptions> change, boolean renewed) {
        this.client = client;
        this.change = change;
        this.renewed = renewed;
    }

    /** Over a client, which stays the caller's: it has to stay open as long as locks are held. */
    public static LeaseholdLockProvider over(LockClient client) {
        return new LeaseholdLockProvider(Objects.requireNonNull(client, "client"), UnaryOperator.identity(), true);
    }

    /**
     * The same, with leases that are not renewed: as ShedLock's other providers do it. A process that dies blocks its jobs until {@code
     * lockAtMostFor} has passed; a lock that is extended beyond its first {@code lockAtMostFor} is renewed from then on.
     * {@code lockAtMostFor} may be as long as a ttl of the store.
     */
    public LeaseholdLockProvider unrenewed() {
        return new LeaseholdLockProvider(client, change, false);
    }

    /** The same, with other options; {@code maxHold} and {@code atLeast} are ShedLock's to say, and the ttl of unrenewed ones. */
    public LeaseholdLockProvider with(UnaryOperator<LockOptions> change) {
        return new LeaseholdLockProvider(client, Objects.requireNonNull(change, "change"), renewed);
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

    /** A lease is sure to be valid for a little less than its ttl, by which clocks may drift. */
    private LockOptions renewal(LockOptions options, Duration atMost) {
        if (renewed) {
            return options;
        }
        Duration ttl = atMost.plus(atMost.dividedBy(50)).plusMillis(10);
        return options.ttl(ttl.compareTo(MIN_TTL) < 0 ? MIN_TTL : ttl).renewal(Renewal.none());
    }
}
