package io.leasehold.cdi;

import io.leasehold.Acquirable;
import io.leasehold.DistributedLock;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLock;
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
    private final Transactions transactions;
    private final String holderId;
    private final LockOptions options;
    private final boolean changed;
    private final Duration maxWait;
    private final Duration commitGuard;
    private final OuterTransaction outerTransaction;
    /** Where the name does not depend on the call: made once, since making it costs more than acquiring allocates. */
    private final @Nullable Acquirable<? extends Hold> constant;

    /** @throws LockedUsageException if the method has no patience, or the client cannot do what it asks for */
    MethodLocks(LockedMethod locked, LockClient client, Transactions transactions) {
        this.locked = locked;
        this.client = client;
        this.transactions = transactions;
        this.holderId = client.holderId();
        this.outerTransaction = Settings.constant("leasehold.outer-transaction", OuterTransaction.class)
                .orElse(OuterTransaction.RELEASE_AFTER_COMPLETION);
        this.maxWait = patience(locked);
        LockOptions given = client.named("options").options();
        this.options = changed(locked, given, client);
        this.changed = !options.equals(given);
        this.commitGuard = commitGuard(locked, options);
        List<LockName> names = locked.naming().constant();
        this.constant = names == null ? null : made(names);
    }

    private static Duration patience(LockedMethod locked) {
        Duration own = locked.maxWait();
        return own != null
                ? own
                : Settings.duration("leasehold.defaults.max-wait")
                        .orElseThrow(() -> LockedUsageException.of(
                                locked.method(),
                                "does not say how long it waits for the lock",
                                "Write maxWait = \"3s\", or 0 for one try, or set leasehold.defaults.max-wait"));
    }

    private static LockOptions changed(LockedMethod locked, LockOptions given, LockClient client) {
        LockOptions options;
        try {
            options = locked.changes().of(given);
        } catch (IllegalArgumentException e) {
            throw LockedUsageException.of(
                    locked.method(), "has unsafe timings: " + e.getMessage(), "Change what the message names");
        }
        Duration ttl = options.ttl().plus(options.lockDelay());
        if (ttl.compareTo(client.maxTtl()) > 0) {
            throw LockedUsageException.of(
                    locked.method(),
                    "has a ttl of " + ttl + ", and " + client.storeDescription() + " accepts at most "
                            + client.maxTtl(),
                    "Write a shorter ttl: a held lock renews itself");
        }
        return options;
    }

    private static Duration commitGuard(LockedMethod locked, LockOptions options) {
        Duration most = options.longestCheckable();
        Duration asked = locked.commitGuard();
        if (asked == null) {
            // Never more than a healthy lease has.
            Duration guard = options.nodeTimeout().multipliedBy(2);
            return guard.compareTo(most) <= 0 ? guard : most.isNegative() ? Duration.ZERO : most;
        }
        if (asked.compareTo(most) > 0) {
            throw LockedUsageException.of(
                    locked.method(),
                    "has a commitGuard of " + asked + ", and a healthy lease with a ttl of " + options.ttl()
                            + " is only sure to have " + most + " left",
                    "Write a shorter commitGuard or a longer ttl");
        }
        return asked;
    }

    LockedMethod method() {
        return locked;
    }

    /** The public id of the client, whatever proxy of it this is. */
    String holderId() {
        return holderId;
    }

    Transactions transactions() {
        return transactions;
    }

    OuterTransaction outerTransaction() {
        return outerTransaction;
    }

    Duration maxWait() {
        return maxWait;
    }

    Duration commitGuard() {
        return commitGuard;
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
            throw new IllegalArgumentException(LockedUsageException.shown(locked.method()) + ": the key has "
                    + names.size() + " values, and the method takes the lease of one lock; take a MultiLease");
        }
        MultiLock several = client.all(names.toArray(LockName[]::new));
        return changed ? several.with(standard -> options) : several;
    }
}
