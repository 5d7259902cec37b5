package io.leasehold.jdbc.dialect;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.PGStatement;

/** What only PostgreSQL's own driver can do; with another one waiters poll. */
final class PostgresDriver implements Dialect.Driver {

    /**
     * Keeps the driver from preparing the statement at the server: such a statement lives in a session, and behind a pooler
     * the next transaction may have another one.
     */
    static void preparedForOneTransaction(PreparedStatement statement) throws SQLException {
        try {
            if (statement.isWrapperFor(PGStatement.class)) {
                statement.unwrap(PGStatement.class).setPrepareThreshold(0);
            }
        } catch (NoClassDefFoundError anotherDriver) {
            // It has its own ways.
        }
    }

    @Override
    public boolean canListen(Connection connection) throws SQLException {
        try {
            return connection.isWrapperFor(PGConnection.class);
        } catch (NoClassDefFoundError anotherDriver) {
            return false;
        }
    }

    @Override
    public void listen(Connection connection) throws SQLException {
        run(connection, "LISTEN leasehold");
    }

    @Override
    public List<String> next(Connection connection, int millis) throws SQLException {
        PGNotification[] notifications = connection.unwrap(PGConnection.class).getNotifications(millis);
        List<String> payloads = new ArrayList<>();
        if (notifications != null) {
            for (PGNotification notification : notifications) {
                payloads.add(notification.getParameter());
            }
        }
        return payloads;
    }

    @Override
    public void unlisten(Connection connection) throws SQLException {
        run(connection, "UNLISTEN leasehold");
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
