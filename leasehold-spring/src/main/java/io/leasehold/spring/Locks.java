package io.leasehold.spring;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import io.leasehold.spi.method.LeaseScope;

/**
 * Finds the lease under which the calling code runs: that of the innermost {@link Locked} method or
 * {@link LeaseholdTemplate} of this thread.
 *
 * <p>On JDK 25 and newer, threads that the body forks in a {@code StructuredTaskScope} also find it; other threads do
 * not.
 *
 * <p>A publisher does not run on the thread that assembled it: use {@link ReactiveLocks} to find its lease.
 */
public final class Locks {

    private Locks() {}

    /**
     * The innermost lease.
     *
     * @throws IllegalStateException if this thread runs no locked body, or the innermost one holds several locks
     */
    public static Lease current() {
        return only(Lease.class, innermost(), "takes several locks: use Locks.currentMulti()");
    }

    /**
     * The innermost lease of several locks.
     *
     * @throws IllegalStateException if this thread runs no locked body, or the innermost one holds one lock
     */
    public static MultiLease currentMulti() {
        return only(MultiLease.class, innermost(), "takes one lock: use Locks.current()");
    }

    static <H extends Hold> H only(Class<H> kind, Hold hold, String otherwise) {
        if (!kind.isInstance(hold)) {
            throw new IllegalStateException("the innermost locked body " + otherwise);
        }
        return kind.cast(hold);
    }

    private static Hold innermost() {
        LeaseScope scope = InheritedScope.current();
        if (scope == null) {
            throw new IllegalStateException(
                    "no locked body runs on this thread: call this inside a @Locked method, on its thread");
        }
        return scope.hold();
    }
}
