package io.leasehold.jdbc.dialect;

import java.lang.reflect.InvocationTargetException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Uses the specific abilities of PostgreSQL's own driver by its public interfaces, found at run time: the caller
 * supplies the driver, and with another one waiters poll.
 *
 * <p>The interfaces are called by reflection because they may belong to a class loader that Leasehold's does not see.
 * An example is an application server that has the driver, with an application that has this library. Code that is
 * compiled against the interfaces could not be linked there.
 */
final class PostgresDriver implements Dialect.Driver, Dialect.Tuning {

    /**
     * Keeps the driver from preparing statements at the server, its own COMMIT included: such a statement lives in a
     * session, and behind a pooler the next transaction may have another one. This is a setting of the driver, not of
     * the session.
     */
    @Override
    public int begin(Connection connection) throws SQLException {
        Class<?> type = type(connection);
        if (type == null) {
            return 0;
        }
        Object own = connection.unwrap(type);
        Object before = call(type, "getPrepareThreshold", own);
        call(type, "setPrepareThreshold", own, 0);
        return before instanceof Integer threshold ? threshold : 0;
    }

    @Override
    public void end(Connection connection, int before) throws SQLException {
        Class<?> type = before == 0 ? null : type(connection);
        if (type != null) {
            call(type, "setPrepareThreshold", connection.unwrap(type), before);
        }
    }

    @Override
    public boolean canListen(Connection connection) throws SQLException {
        return type(connection) != null;
    }

    @Override
    public void listen(Connection connection) throws SQLException {
        run(connection, "LISTEN leasehold");
    }

    @Override
    public List<String> next(Connection connection, int millis) throws SQLException {
        Class<?> type = type(connection);
        if (type == null) {
            throw new SQLException("this driver cannot listen: " + connection.getClass());
        }
        Object notifications = call(type, "getNotifications", connection.unwrap(type), millis);
        List<String> payloads = new ArrayList<>();
        if (notifications instanceof Object[] all) {
            Class<?> told = notifications.getClass().getComponentType();
            for (Object notification : all) {
                Object payload = call(told, "getParameter", notification);
                if (payload != null) {
                    payloads.add(payload.toString());
                }
            }
        }
        return payloads;
    }

    @Override
    public void ask(Connection connection) throws SQLException {
        run(connection, "SELECT 1");
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

    /**
     * The driver's interface that the connection implements, or null for another driver. The connection's class loader
     * and Leasehold's may see two copies of it; the connection implements one of them.
     */
    private static @Nullable Class<?> type(Connection of) throws SQLException {
        for (ClassLoader loader :
                new ClassLoader[] {of.getClass().getClassLoader(), PostgresDriver.class.getClassLoader()}) {
            Class<?> type = type(loader);
            if (type != null && of.isWrapperFor(type)) {
                return type;
            }
        }
        return null;
    }

    private static @Nullable Class<?> type(ClassLoader loader) {
        try {
            return Class.forName("org.postgresql.PGConnection", false, loader);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static @Nullable Object call(Class<?> type, String method, Object on, int argument) throws SQLException {
        try {
            return type.getMethod(method, int.class).invoke(on, argument);
        } catch (ReflectiveOperationException e) {
            throw failure(method, e);
        }
    }

    private static @Nullable Object call(Class<?> type, String method, Object on) throws SQLException {
        try {
            return type.getMethod(method).invoke(on);
        } catch (ReflectiveOperationException e) {
            throw failure(method, e);
        }
    }

    private static SQLException failure(String method, ReflectiveOperationException e) {
        if (e instanceof InvocationTargetException && e.getCause() instanceof SQLException cause) {
            return cause;
        }
        return new SQLException("PostgreSQL's driver has no " + method + " as this version of Leasehold knows it", e);
    }
}
