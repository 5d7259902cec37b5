package io.leasehold;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Several locks acquired together, all or none.
 *
 * <p>Callers that name them in different orders do not deadlock: where the store supports it, they are acquired in one atomic
 * request; otherwise, and when one of them is busy, one after the other in the order of their names. Patience covers all of
 * them together; zero means one atomic request and, if that is not granted, one for each lock up to the first that is busy.
 * The result is always complete: if a part ends while the attempt waits for the others, the attempt starts over.
 */
public interface MultiLock extends Acquirable<MultiLease> {

    /** The locks, sorted, without duplicates. */
    List<LockName> names();

    /** The options with which this object acquires each of them. */
    LockOptions options();

    /** The same locks with other options. */
    MultiLock with(UnaryOperator<LockOptions> change);
}
