package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.DistributedLock;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLock;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The locks of one method, at its client.
 *
 * <p>Immutable; any thread may use it.
 */
final class MethodLocks {

    private final LockedMethod locked;
    private final LockClient client;
    private final LockOptions options;
    private final boolean changed;
    private final Duration maxWait;
    private final Duration commitGuard;
    private final OuterTransaction outerTransaction;
    private final ObservationRegistry observations;
    /** Where the name does not depend on the call: made once, since making it costs more than acquiring allocates. */
    private final @Nullable Acquirable<? extends Hold> constant;

    /** @throws LockedUsageException if the method has no patience, or the client cannot do what it asks for */
    MethodLocks(LockedMethod locked, LockClient client, LeaseholdSettings settings, ObservationRegistry observations) {
        this.locked = locked;
        this.client = client;
        this.observations = observations;
        this.outerTransaction = settings.outerTransaction();
        Duration patience = locked.maxWait() != null ? locked.maxWait() : settings.maxWait(locked.client());
        if (patience == null) {
            throw LintFinding.refusal(
                    locked.method(),
                    "does not say how long it waits for the lock",
                    "Write maxWait = \"3s\", or 0 for one try, or set a default in LeaseholdSettings");
        }
        this.maxWait = patience;
        LockOptions given = client.named("options").options();
        try {
            this.options = locked.changes().of(given);
        } catch (IllegalArgumentException e) {
            throw LintFinding.refusal(locked.method(), "has unsafe timings: " + e.getMessage(), "Change them");
        }
        Duration ttl = options.ttl().plus(options.lockDelay());
        if (ttl.compareTo(client.maxTtl()) > 0) {
            throw LintFinding.refusal(
                    locked.method(),
                    "has a ttl of " + ttl + ", and " + client.storeDescription() + " accepts at most "
                            + client.maxTtl(),
                    "Write a shorter ttl: a held lock renews itself");
        }
        this.changed = !options.equals(given);
        this.commitGuard = commitGuard(locked, options);
        List<LockName> constant = locked.naming().constant();
        this.constant = constant == null ? null : made(constant);
    }

    private static Duration commitGuard(LockedMethod locked, LockOptions options) {
        Duration most = options.longestCheckable();
        Duration asked = locked.commitGuard();
        if (asked == null) {
            return defaultGuard(options);
        }
        if (asked.compareTo(most) > 0) {
            throw LintFinding.refusal(
                    locked.method(),
                    "has a commitGuard of " + asked + ", and a healthy lease with a ttl of " + options.ttl()
                            + " is only sure to have " + most + " left",
                    "Write a shorter commitGuard or a longer ttl");
        }
        return asked;
    }

    /** 2 × node timeout, and never more than a healthy lease has. */
    static Duration defaultGuard(LockOptions options) {
        Duration most = options.longestCheckable();
        Duration guard = options.nodeTimeout().multipliedBy(2);
        return guard.compareTo(most) <= 0 ? guard : most.isNegative() ? Duration.ZERO : most;
    }

    LockClient client() {
        return client;
    }

    Duration maxWait() {
        return maxWait;
    }

    Duration commitGuard() {
        return commitGuard;
    }

    ObservationRegistry observations() {
        return observations;
    }

    OuterTransaction outerTransaction() {
        return outerTransaction;
    }

    /**
     * The locks with these names, as one that is acquired at once.
     *
     * @throws IllegalArgumentException if they are several, and the method takes the lease of one
     */
    Acquirable<? extends Hold> of(List<LockName> names) {
        return constant != null ? constant : made(names);
    }

    private Acquirable<? extends Hold> made(List<LockName> names) {
        boolean one = names.size() == 1
                && locked.slots().multiLease() < 0
                && !locked.naming().isAlwaysSeveral();
        if (one) {
            DistributedLock lock = client.named(names.get(0));
            return changed ? lock.with(standard -> options) : lock;
        }
        if (locked.slots().wantOne()) {
            throw new IllegalArgumentException(LintFinding.shown(locked.method()) + ": the key has " + names.size()
                    + " values, and the method takes the lease of one lock; take a MultiLease");
        }
        MultiLock several = client.all(names.toArray(LockName[]::new));
        return changed ? several.with(standard -> options) : several;
    }
}
