package io.leasehold.jdbc.dialect;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Sets the row wait of a MySQL session: one second while the store uses it, and the previous value afterwards. */
final class MySqlWaits implements Dialect.Tuning {

    /** The shortest wait that can be set. */
    private static final int MIN_SECONDS = 1;

    @Override
    public int begin(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT @@SESSION.innodb_lock_wait_timeout")) {
            int before = row.next() ? row.getInt(1) : MIN_SECONDS;
            if (before != MIN_SECONDS) {
                set(connection, MIN_SECONDS);
            }
            return before;
        }
    }

    @Override
    public void end(Connection connection, int before) throws SQLException {
        if (before != MIN_SECONDS) {
            set(connection, before);
        }
    }

    private static void set(Connection connection, int seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET SESSION innodb_lock_wait_timeout = " + seconds);
        }
    }
}
