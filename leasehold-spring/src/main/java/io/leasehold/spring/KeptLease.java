package io.leasehold.spring;

import io.leasehold.spi.method.LeaseScope;

/** A lease that transactions of one thread keep until the last of them has completed. Only that thread uses it. */
final class KeptLease {

    private final LeaseScope scope;
    private int open;

    /** Creates it for a number of transactions, of which each reports its completion. */
    KeptLease(LeaseScope scope, int open) {
        this.scope = scope;
        this.open = open;
    }

    LeaseScope scope() {
        return scope;
    }

    void completed() {
        open--;
        if (open == 0) {
            scope.release();
        }
    }
}
