package io.leasehold.jdbc.row;

import java.sql.Connection;
import java.sql.SQLException;

/** Requires a transaction: the lock of a row lasts until its end. */
public final class OwnTransaction {

    private OwnTransaction() {}

    /**
     * Refuses a connection in auto-commit mode.
     *
     * @param what the request, for messages
     */
    public static void require(Connection connection, String what) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException(
                    what + " holds until the end of a transaction, and this connection is in auto-commit"
                            + " mode: call setAutoCommit(false) first");
        }
    }
}
