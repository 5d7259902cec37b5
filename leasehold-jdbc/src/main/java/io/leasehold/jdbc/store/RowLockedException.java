package io.leasehold.jdbc.store;

import java.io.Serial;
import java.sql.SQLTransientException;

/** Thrown if another transaction has locked a row, and this one does not wait for it. */
final class RowLockedException extends SQLTransientException {

    @Serial
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param what the row, for messages
     */
    RowLockedException(String what) {
        super(what + " is locked by another transaction");
    }

    private RowLockedException(String what, String why) {
        super(what + " " + why);
    }

    /** Creates the exception for a row that another transaction may have created and deleted in the meantime. */
    static RowLockedException madeTooSlowly(String what) {
        return new RowLockedException(what, "took this transaction too long to make");
    }
}
