package io.leasehold.jdbc;

/**
 * The result of a request for a row's lock. The list is closed, so it can be switched over.
 *
 * <p>A lock that was obtained lasts until the transaction commits or rolls back; there is nothing to release, to renew or to
 * lose: if the connection breaks, the transaction was rolled back.
 */
public enum RowLock {
    /** The row is ours until the end of the transaction. */
    LOCKED,
    /** Another transaction has it. This one goes on. */
    BUSY,
    /** There is no such row. The transaction goes on. */
    MISSING,
    /**
     * The database gave up the transaction (deadlock, serialization, a row that changed since the transaction's snapshot, a busy
     * row where that costs the transaction): roll back, and repeat it from its beginning.
     */
    ABORTED;

    /**
     * Goes on only with the lock.
     *
     * @throws RowLockException if the row was not locked
     */
    public void orElseThrow() {
        if (this != LOCKED) {
            throw new RowLockException(this);
        }
    }
}
