package io.leasehold;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Several locks acquired together, all or none.
 *
 * <p>Callers that name them in different orders do not deadlock: where the store can, they are taken in one atomic
 * request; otherwise, and when one of them is busy, one after the other in the order of their names. Patience counts for
 * all of them together; zero means one atomic request, and, if something is in its way, one for each lock up to the one that
 * is busy. What is handed out is whole: a part that ended while the others were waited for sends it back to the beginning.
 */
public interface MultiLock extends Acquirable<MultiLease> {

    /** The locks, sorted, without duplicates. */
    List<LockName> names();

    /** The options with which this object acquires each of them. */
    LockOptions options();

    /** The same locks with other options. */
    MultiLock with(UnaryOperator<LockOptions> change);
}
