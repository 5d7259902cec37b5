package io.leasehold.jdbc;

/**
 * The result of a request for a row's lock. The list is closed, so it can be switched over.
 *
 * <p>An obtained lock lasts until the transaction commits or rolls back. It needs no release and no renewal, and cannot
 * be lost: if the connection breaks, the transaction was rolled back.
 */
public enum RowLock {
    /** This transaction has the row until its end. */
    LOCKED,
    /** Another transaction has the row. This transaction continues. */
    BUSY,
    /** There is no such row. The transaction continues. */
    MISSING,
    /**
     * The database aborted the transaction (deadlock, serialization failure, a row that changed since the transaction's
     * snapshot, a busy row if that costs the transaction): roll back, and repeat it from its beginning.
     */
    ABORTED;

    /**
     * Requires that the row was locked.
     *
     * @throws RowLockException if the row was not locked
     */
    public void orElseThrow() {
        if (this != LOCKED) {
            throw new RowLockException(this);
        }
    }
}
