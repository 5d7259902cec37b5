package io.leasehold.cdi;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.method.ClientLocks;
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
    private final ClientLocks locks;
    private final Transactions transactions;
    private final Duration maxWait;
    private final OuterTransaction outerTransaction;
    /**
     * The lock, if its name does not depend on the call: created once, since creating it costs more than acquiring
     * allocates.
     */
    private final @Nullable Acquirable<? extends Hold> constant;

    /**
     * Creates the locks.
     *
     * @throws LockedUsageException if the method has no patience, or the client does not support its options
     */
    MethodLocks(LockedMethod locked, LockClient client, Transactions transactions) {
        this.locked = locked;
        this.transactions = transactions;
        this.outerTransaction = Settings.constant("leasehold.outer-transaction", OuterTransaction.class)
                .orElse(OuterTransaction.RELEASE_AFTER_COMPLETION);
        this.maxWait = patience(locked);
        this.locks = new ClientLocks(
                client,
                locked.changes(),
                locked.commitGuard(),
                (problem, cure) -> LockedUsageException.of(locked.method(), problem, cure));
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
                                "does not define how long it waits for the lock",
                                "Write maxWait = \"3s\", or 0 for one try, or set leasehold.defaults.max-wait"));
    }

    LockedMethod method() {
        return locked;
    }

    String holderId() {
        return locks.holderId();
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
        return locks.commitGuard();
    }

    /**
     * The locks with these names, acquired together.
     *
     * @throws IllegalArgumentException if there are several, and the method takes the lease of one
     */
    Acquirable<? extends Hold> of(List<LockName> names) {
        return constant != null ? constant : made(names);
    }

    private Acquirable<? extends Hold> made(List<LockName> names) {
        boolean one = names.size() == 1
                && locked.slots().multiLease() < 0
                && !locked.naming().isAlwaysSeveral();
        if (!one && !locked.naming().kind().isExclusive()) {
            throw new IllegalArgumentException(
                    LockedUsageException.shown(locked.method()) + ": the key has " + names.size()
                            + " values, and a call takes " + locked.naming().kind() + " of one name");
        }
        if (!one && locked.slots().wantOne()) {
            throw new IllegalArgumentException(LockedUsageException.shown(locked.method()) + ": the key has "
                    + names.size() + " values, and the method takes the lease of one lock; take a MultiLease");
        }
        return one ? locks.of(names.get(0)) : locks.all(names);
    }
}
