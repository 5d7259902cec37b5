package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;

/**
 * Where the parameters of a method stand that are filled; −1 for none.
 *
 * @param lease of type {@link Lease}
 * @param multiLease of type {@link MultiLease}
 * @param token of type long
 */
public record LeaseSlots(int lease, int multiLease, int token) {

    /** Whether the method takes the lease of one lock. */
    public boolean wantOne() {
        return lease >= 0 || token >= 0;
    }

    /** Whether the method takes none. */
    public boolean isEmpty() {
        return !wantOne() && multiLease < 0;
    }

    /** A copy of the arguments in which the hold and its token fill their parameters. */
    public Object[] filled(Object[] arguments, Hold hold) {
        Object[] filled = arguments.clone();
        if (lease >= 0) {
            filled[lease] = hold;
        }
        if (multiLease >= 0) {
            filled[multiLease] = hold;
        }
        if (token >= 0) {
            filled[token] = ((Lease) hold).fencingToken();
        }
        return filled;
    }
}
