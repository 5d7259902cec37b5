package io.leasehold.jdbc.store;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import java.sql.SQLException;

/** Translates a database's errors for the caller. */
final class SqlFailures {

    private SqlFailures() {}

    /**
     * Describes an error.
     *
     * @param what the request
     * @param store the store, for messages
     */
    static Failure of(SqlTrouble trouble, String what, String store, SQLException e) {
        String at = what + " at " + store + ": ";
        String said = " (" + SqlTrouble.firstLine(e) + ", code " + e.getErrorCode() + ")";
        return switch (trouble) {
            case CONTENTION -> transitory(at + "other transactions kept the database busy" + said, e);
            case INTERRUPTED -> transitory(at + "the database ended the statement" + said, e);
            case FULL -> transitory(at + "there is no space left to write to; make some" + said, e);
            case UNREACHABLE -> transitory(at + "the database cannot be reached" + said, e);
            case DAMAGED ->
                Failure.unavailable(
                        FailureKind.PERMANENT,
                        at + "the lease table is damaged; stop its users and move it away" + said,
                        e);
            case ACCESS ->
                Failure.access(
                        at + "the database may not be written; this user needs the right to read and write it" + said,
                        e);
            case READ_ONLY ->
                // The trouble ends when a standby is promoted, or the pool finds the new primary.
                transitory(
                        at + "this server of the database can only be read; name the primary, and a user who may write"
                                + said,
                        e);
            case OTHER -> transitory(at + "the database reports an error" + said, e);
        };
    }

    /** Returns an error that was thrown while a connection was opened. */
    static Failure of(LockStoreException e) {
        boolean lasting = e instanceof StoreAccessException || e instanceof UnsafeStoreException;
        return new Failure(lasting ? FailureKind.PERMANENT : FailureKind.NO_EFFECT, e);
    }

    private static Failure transitory(String message, SQLException e) {
        return Failure.unavailable(FailureKind.NO_EFFECT, message, e);
    }
}
