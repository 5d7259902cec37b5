package io.leasehold.cdi;

/**
 * A lease that a transaction of the caller keeps. It is given back when that has completed and no body runs under it any more: a
 * transaction that times out is completed by another thread while the body still runs.
 *
 * <p>Guarded by {@code this}.
 */
final class KeptLease {

    private final LeaseScope scope;
    private int users = 2; // the transaction, and the body that it was acquired for

    KeptLease(LeaseScope scope) {
        this.scope = scope;
    }

    LeaseScope scope() {
        return scope;
    }

    /** For one more body; false if it has been given back. */
    synchronized boolean enter() {
        if (users == 0) {
            return false;
        }
        users++;
        return true;
    }

    /** The transaction has completed, or a body has ended. */
    void leave() {
        boolean last;
        synchronized (this) {
            last = --users == 0;
        }
        if (last) {
            scope.hold().close();
        }
    }
}
