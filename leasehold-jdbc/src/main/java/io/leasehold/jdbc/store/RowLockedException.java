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
     * @param what the row, for messages
     */
    RowLockedException(String what) {
        super(what + " is locked by another transaction");
    }

    private RowLockedException(String what, String why) {
        super(what + " " + why);
    }

    /** Another transaction may have made and deleted such a row meanwhile. */
    static RowLockedException madeTooSlowly(String what) {
        return new RowLockedException(what, "took this transaction too long to make");
    }
}
