package io.leasehold;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Several locks acquired together, all or none.
 *
 * <p>Callers that name the locks in different orders do not deadlock: if the store supports it, one atomic request
 * acquires all of them. Otherwise, and if one of them is busy, they are acquired one after the other in the order of
 * their names. Patience covers all of them together. Zero means one atomic request and, if that is not granted, one
 * request for each lock up to the first that is busy. The result is always complete: if one of the locks is lost while
 * the attempt waits for the others, the attempt starts over.
 */
public interface MultiLock extends Acquirable<MultiLease> {

    /** The locks, sorted, without duplicates. */
    List<LockName> names();

    /** The options with which this object acquires each of them. */
    LockOptions options();

    /** The same locks with other options. */
    MultiLock with(UnaryOperator<LockOptions> change);
}
