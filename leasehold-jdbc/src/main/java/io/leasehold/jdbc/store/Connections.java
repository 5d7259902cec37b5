package io.leasehold.jdbc.store;

import java.sql.SQLException;

/** Where the worker gets its connection from, for one transaction at a time. */
public sealed interface Connections permits KeptConnection, BorrowedConnections {

    /**
     * A connection to the lease table, in auto-commit mode.
     *
     * @throws io.leasehold.LockStoreException if what it leads to may not be used
     */
    LeaseTable take() throws SQLException;

    /** Whether the connection leads to where it should; asked inside a writing transaction. */
    boolean leadsToStore();

    /**
     * Ends the use of a connection.
     *
     * @param broken whether it is not to be used again
     */
    void putBack(LeaseTable table, boolean broken);

    /** Closes what is open. Called when no connection is taken. */
    void close();
}
