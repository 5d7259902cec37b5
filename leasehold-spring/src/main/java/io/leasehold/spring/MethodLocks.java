package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.List;

/**
 * The locks of one method, at its client.
 *
 * <p>Immutable; any thread may use it.
 */
final class MethodLocks {

    private final LockedMethod locked;
    private final LockClient client;
    private final LockOptions options;
    private final Duration maxWait;
    private final Duration commitGuard;
    private final OuterTransaction outerTransaction;

    /** @throws LockedUsageException if the method has no patience, or the client cannot do what it asks for */
    MethodLocks(LockedMethod locked, LockClient client, LeaseholdSettings settings) {
        this.locked = locked;
        this.client = client;
        this.outerTransaction = settings.outerTransaction();
        Duration patience = locked.maxWait() != null ? locked.maxWait() : settings.maxWait();
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
        this.commitGuard = commitGuard(locked, options);
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

    Duration maxWait() {
        return maxWait;
    }

    Duration commitGuard() {
        return commitGuard;
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
        boolean one = names.size() == 1
                && locked.slots().multiLease() < 0
                && !locked.naming().isAlwaysSeveral();
        if (one) {
            return client.named(names.get(0)).with(standard -> options);
        }
        if (locked.slots().wantOne()) {
            throw new IllegalArgumentException(LintFinding.shown(locked.method()) + ": the key has " + names.size()
                    + " values, and the method takes the lease of one lock; take a MultiLease");
        }
        return client.all(names.toArray(LockName[]::new)).with(standard -> options);
    }
}
