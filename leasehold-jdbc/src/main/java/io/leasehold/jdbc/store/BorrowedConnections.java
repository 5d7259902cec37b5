package io.leasehold.jdbc.store;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.Incarnation;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Connections of the caller's data source, each given back after one transaction: nothing depends on a session. */
public final class BorrowedConnections implements Connections {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    private final DataSource dataSource;
    private final Dialect dialect;
    private final Incarnation incarnation;

    /** Borrows from the data source, at whose other end {@link SchemaCheck} found this incarnation. */
    public BorrowedConnections(DataSource dataSource, Dialect dialect, Incarnation incarnation) {
        this.dataSource = dataSource;
        this.dialect = dialect;
        this.incarnation = incarnation;
    }

    @Override
    public LeaseTable take() throws SQLException {
        Connection connection = dataSource.getConnection();
        try {
            if (!connection.getAutoCommit()) {
                connection.rollback();
                connection.setAutoCommit(true);
            }
            return new LeaseTable(connection, dialect, incarnation);
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    @Override
    public boolean leadsToStore() {
        return true;
    }

    @Override
    public void putBack(LeaseTable table, boolean broken) {
        try {
            table.giveBack();
        } catch (SQLException e) {
            LOG.debug("giving a connection back failed", e);
            closeQuietly(table.connection());
        }
    }

    private static void closeQuietly(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            LOG.debug("closing a connection failed", e);
        }
    }

    @Override
    public void close() {
        // The data source is the caller's.
    }
}
