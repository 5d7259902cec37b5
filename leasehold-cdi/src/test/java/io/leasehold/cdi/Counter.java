package io.leasehold.cdi;

import jakarta.transaction.Synchronization;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.XAConnection;
import javax.sql.XADataSource;

/** A number in a row of a database, which is read and written by the transaction of the thread, and never locked for reading. */
final class Counter {

    private static final Object CONNECTION = new Object();

    private final XADataSource database;

    Counter(XADataSource database) throws SQLException {
        this.database = database;
        XAConnection physical = database.getXAConnection();
        try (Connection connection = physical.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("create table counter (id int primary key, number int not null)");
            statement.execute("insert into counter values (1, 0)");
        }
        physical.close();
    }

    /** Reads the number outside of any transaction. */
    int value() throws SQLException {
        XAConnection physical = database.getXAConnection();
        try (Connection connection = physical.getConnection()) {
            return read(connection);
        } finally {
            physical.close();
        }
    }

    int read() throws Exception {
        return read(connection());
    }

    void write(int number) throws Exception {
        try (Statement statement = connection().createStatement()) {
            statement.execute("update counter set number = " + number + " where id = 1");
        }
    }

    private static int read(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select number from counter where id = 1")) {
            rows.next();
            return rows.getInt(1);
        }
    }

    /** The connection of the thread's transaction. */
    private Connection connection() throws Exception {
        Connection known = (Connection) Jta.registry().getResource(CONNECTION);
        if (known != null) {
            return known;
        }
        XAConnection physical = database.getXAConnection();
        Jta.manager().getTransaction().enlistResource(physical.getXAResource());
        Connection connection = physical.getConnection();
        Jta.registry().putResource(CONNECTION, connection);
        Jta.registry().registerInterposedSynchronization(new Synchronization() {
            @Override
            public void beforeCompletion() {}

            @Override
            public void afterCompletion(int status) {
                try {
                    physical.close();
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        return connection;
    }
}
