package io.leasehold.cdi;

import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The transaction of the calling thread. */
interface Transactions {

    Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** For an application without transactions, or without access to them. */
    Transactions NONE = new Transactions() {
        @Override
        public boolean isActive() {
            return false;
        }

        @Override
        public @Nullable KeptLease kept(AskedLocks asked) {
            return null;
        }

        @Override
        public boolean keep(KeptLease lease) {
            throw new IllegalStateException("no transaction is active");
        }

        /** Does not throw: otherwise the transaction that was just begun would stay with the thread. */
        @Override
        public void guard(LeaseScope scope) {
            LOG.warn(
                    "a transaction began under {}, and its commit is not checked: there is no"
                            + " TransactionSynchronizationRegistry, neither as a bean nor by its name in JNDI",
                    scope.locks());
        }
    };

    /** Whether a transaction is active, even if it can only be rolled back: it keeps its leases until then. */
    boolean isActive();

    /**
     * Finds the lease of exactly these locks that the active transaction keeps, because an earlier call in it acquired
     * them.
     *
     * @throws IllegalStateException if a lease has only some of them
     * @throws io.leasehold.LeaseLostException if it has been lost since
     */
    @Nullable
    KeptLease kept(AskedLocks asked);

    /**
     * Registers the lease at the active transaction, which checks it before its commit and keeps it until it completes;
     * false if the transaction can only be rolled back, and accepts no further leases.
     */
    boolean keep(KeptLease lease);

    /** Registers a check at the active transaction, which runs before its commit. */
    void guard(LeaseScope scope);
}
