package io.leasehold.cdi;

import io.leasehold.spi.method.LeaseScope;
import java.time.Duration;

/**
 * A lease that a transaction of the caller keeps. It is given back when that has completed and no body runs under it any more: a
 * transaction that times out is completed by another thread while the body still runs.
 *
 * <p>Guarded by {@code this}.
 */
final class KeptLease {

    private final LeaseScope scope;
    private int users = 2; // the transaction, and the body that it was acquired for

    private Duration guard; // the largest that its transaction has been told of

    KeptLease(LeaseScope scope) {
        this.scope = scope;
        this.guard = scope.commitGuard();
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

    /** Whether this commit guard is larger than those of all bodies before. */
    synchronized boolean raises(Duration commitGuard) {
        boolean larger = commitGuard.compareTo(guard) > 0;
        if (larger) {
            guard = commitGuard;
        }
        return larger;
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
