package io.leasehold.cdi;

import org.jspecify.annotations.Nullable;

/** The transaction of the calling thread. */
interface Transactions {

    /** Where there are no transactions that could be heard of. */
    Transactions NONE = new Transactions() {
        @Override
        public boolean isActive() {
            return false;
        }

        @Override
        public @Nullable KeptLease kept(LockCall call) {
            return null;
        }

        @Override
        public void keep(KeptLease lease) {
            throw new IllegalStateException("no transaction is active");
        }

        @Override
        public void guard(LeaseScope scope) {
            throw new IllegalStateException("no transaction is active");
        }
    };

    /** Whether one is active, so that it may yet commit. */
    boolean isActive();

    /**
     * Of the leases that the active transaction keeps, the one with just these locks: an earlier call in it has taken them.
     *
     * @throws IllegalStateException if one has some of them
     * @throws io.leasehold.LeaseLostException if it has been lost since
     */
    @Nullable
    KeptLease kept(LockCall call);

    /** Has the active transaction check the lease before its commit, and keep it until it has completed. */
    void keep(KeptLease lease);

    /** Has the active transaction check what is held before its commit. */
    void guard(LeaseScope scope);
}
