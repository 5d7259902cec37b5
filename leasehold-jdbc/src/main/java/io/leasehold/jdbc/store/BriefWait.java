package io.leasehold.jdbc.store;

import io.leasehold.jdbc.dialect.Dialect;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * Queries outside of the transactions of {@link LeaseTable} that must not wait long for a table that another transaction
 * has locked.
 *
 * <p>The client gives up on a silent connection, but its server process keeps waiting for the table. Each further
 * connection would leave another process, until the server accepts no more.
 */
final class BriefWait {

    /** The tries of one opening together last as long as its connection may be silent. */
    private static final String WAIT = "500ms";

    private BriefWait() {}

    /** A query. */
    interface Query<R> {
        R run() throws SQLException;
    }

    /** Runs the query on a connection in auto-commit mode, in a transaction with a limit if the database has one. */
    static <R> R run(Connection connection, Dialect dialect, Query<R> query) throws SQLException {
        String limits = dialect.transaction() instanceof Dialect.ByDriver driver ? driver.limits() : null;
        if (limits == null) {
            return query.run();
        }
        connection.setAutoCommit(false);
        try {
            try (PreparedStatement limit = connection.prepareStatement(limits)) {
                limit.setString(1, WAIT);
                limit.executeQuery().close();
            }
            R result = query.run();
            connection.commit();
            connection.setAutoCommit(true);
            return result;
        } catch (SQLException | RuntimeException | Error e) {
            rollback(connection, e);
            throw e;
        }
    }

    private static void rollback(Connection connection, Throwable trouble) {
        try {
            connection.rollback();
            connection.setAutoCommit(true);
        } catch (SQLException e) {
            trouble.addSuppressed(e);
        }
    }
}
