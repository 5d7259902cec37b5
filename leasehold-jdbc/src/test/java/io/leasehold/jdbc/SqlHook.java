package io.leasehold.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

/** Runs an action once, just before a store executes a statement: a pause of the client, or an error of its driver. */
final class SqlHook {

    /** The action; may throw. */
    interface Deed {
        void run() throws Exception;
    }

    private record Armed(String part, Deed deed) {}

    private final AtomicReference<Armed> armed = new AtomicReference<>();

    /** Runs it before the next prepared statement that contains this text. */
    void before(String part, Deed deed) {
        armed.set(new Armed(part, deed));
    }

    /** Whether it has run. */
    boolean isDone() {
        return armed.get() == null;
    }

    /** A data source in front of this one. */
    DataSource over(DataSource real) {
        return proxy(DataSource.class, (proxy, method, arguments) -> {
            Object result = call(real, method, arguments);
            return result instanceof Connection connection ? over(connection) : result;
        });
    }

    private Connection over(Connection real) {
        return proxy(Connection.class, (proxy, method, arguments) -> {
            Object result = call(real, method, arguments);
            return result instanceof PreparedStatement statement && arguments[0] instanceof String sql
                    ? over(statement, sql)
                    : result;
        });
    }

    private PreparedStatement over(PreparedStatement real, String sql) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> {
            Armed now = armed.get();
            if (method.getName().startsWith("execute")
                    && now != null
                    && sql.contains(now.part())
                    && armed.compareAndSet(now, null)) {
                now.deed().run();
            }
            return call(real, method, arguments);
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(SqlHook.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object call(Object real, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Connections that the driver gives for this URL. */
    static DataSource driver(String url) {
        return proxy(DataSource.class, (proxy, method, arguments) -> {
            if (method.getName().equals("getConnection")) {
                return java.sql.DriverManager.getConnection(url);
            }
            throw new SQLException("not a part of the test: " + method.getName());
        });
    }
}
