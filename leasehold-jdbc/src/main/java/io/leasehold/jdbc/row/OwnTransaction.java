package io.leasehold.jdbc.row;

import java.sql.Connection;
import java.sql.SQLException;

/** The lock of a row lasts until the end of a transaction, so there has to be one. */
public final class OwnTransaction {

    private OwnTransaction() {}

    /**
     * Refuses a connection that commits every statement by itself.
     *
     * @param what the request, for messages
     */
    public static void require(Connection connection, String what) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException(
                    what + " holds until the end of a transaction, and this connection commits every"
                            + " statement by itself: call setAutoCommit(false) first");
        }
    }
}
