package io.leasehold.spring;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.method.ClientLocks;
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
    private final ClientLocks locks;
    private final Duration maxWait;
    private final OuterTransaction outerTransaction;
    private final ObservationRegistry observations;
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
    MethodLocks(LockedMethod locked, LockClient client, LeaseholdSettings settings, ObservationRegistry observations) {
        this.locked = locked;
        this.observations = observations;
        this.outerTransaction = settings.outerTransaction();
        Duration patience = locked.maxWait() != null ? locked.maxWait() : settings.maxWait(locked.client());
        if (patience == null) {
            throw LintFinding.refusal(
                    locked.method(),
                    "does not define how long it waits for the lock",
                    "Write maxWait = \"3s\", or 0 for one try, or set a default in LeaseholdSettings");
        }
        this.maxWait = patience;
        this.locks = new ClientLocks(
                client,
                locked.changes(),
                locked.commitGuard(),
                (problem, cure) -> LintFinding.refusal(locked.method(), problem, cure));
        List<LockName> constant = locked.naming().constant();
        this.constant = constant == null ? null : made(constant);
    }

    String holderId() {
        return locks.holderId();
    }

    Duration maxWait() {
        return maxWait;
    }

    Duration commitGuard() {
        return locks.commitGuard();
    }

    ObservationRegistry observations() {
        return observations;
    }

    OuterTransaction outerTransaction() {
        return outerTransaction;
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
            throw new IllegalArgumentException(LintFinding.shown(locked.method()) + ": the key has " + names.size()
                    + " values, and a call takes " + locked.naming().kind() + " of one name");
        }
        if (!one && locked.slots().wantOne()) {
            throw new IllegalArgumentException(LintFinding.shown(locked.method()) + ": the key has " + names.size()
                    + " values, and the method takes the lease of one lock; take a MultiLease");
        }
        return one ? locks.of(names.get(0)) : locks.all(names);
    }
}
