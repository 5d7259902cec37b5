package io.leasehold.cdi;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import io.leasehold.spi.method.LeaseScope;

/** The lease under which the calling code runs: that of the innermost {@link Locked} method of this thread. */
public final class Locks {

    private Locks() {}

    /**
     * The innermost lease.
     *
     * @throws IllegalStateException if this thread runs no locked method, or the innermost one holds several locks
     */
    public static Lease current() {
        return only(Lease.class, "takes several locks: use Locks.currentMulti()");
    }

    /**
     * The innermost lease of several locks.
     *
     * @throws IllegalStateException if this thread runs no locked method, or the innermost one holds one lock
     */
    public static MultiLease currentMulti() {
        return only(MultiLease.class, "takes one lock: use Locks.current()");
    }

    private static <H extends Hold> H only(Class<H> kind, String otherwise) {
        LeaseScope scope = LeaseScope.current();
        if (scope == null) {
            throw new IllegalStateException(
                    "no locked method runs on this thread: call this inside a @Locked method, on its thread");
        }
        if (!kind.isInstance(scope.hold())) {
            throw new IllegalStateException("the innermost locked method " + otherwise);
        }
        return kind.cast(scope.hold());
    }
}
