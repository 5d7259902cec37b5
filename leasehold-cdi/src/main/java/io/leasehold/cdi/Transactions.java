package io.leasehold.cdi;

import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The transaction of the calling thread. */
interface Transactions {

    Logger LOG = LoggerFactory.getLogger("io.leasehold");

    /** Where there are none, or none that could be heard of. */
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

        /** Does not throw: a manager that has begun a transaction would leave it to the thread. */
        @Override
        public void guard(LeaseScope scope) {
            LOG.warn(
                    "a transaction has begun under {}, and its commit is not checked: there is no"
                            + " TransactionSynchronizationRegistry, neither as a bean nor by its name in JNDI",
                    scope.locks());
        }
    };

    /** Whether one is active, also if it can only be rolled back: what it keeps is held until then. */
    boolean isActive();

    /**
     * Of the leases that the active transaction keeps, the one with just these locks: an earlier call in it has taken them.
     *
     * @throws IllegalStateException if one has some of them
     * @throws io.leasehold.LeaseLostException if it has been lost since
     */
    @Nullable
    KeptLease kept(AskedLocks asked);

    /**
     * Has the active transaction check the lease before its commit, and keep it until it has completed; false if it can only be rolled
     * back, and keeps nothing more.
     */
    boolean keep(KeptLease lease);

    /** Has the active transaction check what is held before its commit. */
    void guard(LeaseScope scope);
}
