package io.leasehold.jdbc.store;

import java.io.Serial;
import java.sql.SQLTransientException;

/** Another transaction has locked a row, and ours does not wait for it. */
final class RowLockedException extends SQLTransientException {

    @Serial
    private static final long serialVersionUID = 1L;

    /**
     * An exception.
     *
     * @param what the row, for people
     */
    RowLockedException(String what) {
        super(what + " is locked by another transaction");
    }
}
