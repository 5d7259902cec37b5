package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.testkit.virtual.VirtualWorld;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The time during which a free lock has no holder although there is a waiter. Under faults that may be long; once all
 * is calm it has a bound.
 */
final class Waits {

    /**
     * The sum of the spans that may follow each other: an abandoned hold expires (ttl, lock delay and drift), the lock
     * is handed to a waiter that is gone (a claim, no longer than the former), and the next waiter rechecks (recheck
     * and a fifth; a reply, which may come at the second request).
     */
    static final Duration BOUND = ClientOptions.TTL
            .plus(ClientOptions.LOCK_DELAY)
            .plusMillis(22)
            .multipliedBy(2)
            .plus(ClientOptions.RECHECK.multipliedBy(12).dividedBy(10))
            .plus(ClientOptions.ANSWER.multipliedBy(2));

    private final VirtualWorld world;
    private final RunLog log;
    private final Predicate<LockName> isIdle;
    private final LongSupplier calmFromNanos;
    private final boolean promisesProgress;
    /** The time since which each lock is free with a waiter. */
    private final Map<LockName, Long> idleSinceNanos = new TreeMap<>();

    /**
     * Judges the waits of one run.
     *
     * @param isIdle whether a lock is free and has a waiter
     * @param calmFromNanos the end of the last fault
     * @param promisesProgress whether a free lock must be granted soon
     */
    Waits(
            VirtualWorld world,
            RunLog log,
            Predicate<LockName> isIdle,
            LongSupplier calmFromNanos,
            boolean promisesProgress) {
        this.world = world;
        this.log = log;
        this.isIdle = isIdle;
        this.calmFromNanos = calmFromNanos;
        this.promisesProgress = promisesProgress;
    }

    /** Records that an attempt for this lock, or a lease of it, began or ended. */
    void changed(LockName name) {
        if (isIdle.test(name)) {
            idleSinceNanos.putIfAbsent(name, world.elapsedNanos());
        } else {
            Long since = idleSinceNanos.remove(name);
            if (since != null) {
                judge(name, since);
            }
        }
    }

    /** Judges the waits at the end, when all attempts should have been served. */
    void judgeAll() {
        idleSinceNanos.forEach(this::judge);
    }

    private void judge(LockName name, long sinceNanos) {
        long fromNanos = Math.max(sinceNanos, calmFromNanos.getAsLong());
        long idleNanos = world.elapsedNanos() - fromNanos;
        if (idleNanos > BOUND.toNanos() && promisesProgress) {
            log.problem("waiting: " + name + " was free and wanted for " + Duration.ofNanos(idleNanos)
                    + " although all was calm; at most " + BOUND + ", until "
                    + world.elapsed());
        }
    }
}
