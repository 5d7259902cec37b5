package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;

/**
 * The positions of the method parameters that are filled; −1 for none.
 *
 * @param lease of type {@link Lease}
 * @param multiLease of type {@link MultiLease}
 * @param token of type long
 */
public record LeaseSlots(int lease, int multiLease, int token) {

    /** Whether the method has a parameter for one lock. */
    public boolean wantOne() {
        return lease >= 0 || token >= 0;
    }

    /** Whether no parameter is filled. */
    public boolean isEmpty() {
        return !wantOne() && multiLease < 0;
    }

    /** Copies the arguments and fills in the hold and its token. */
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
