package io.leasehold.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.sql.DataSource;

/** Records the SQL states of all errors that a store receives, so that a test can show that its fault happened. */
final class SqlWitness {

    private final Set<String> states = ConcurrentHashMap.newKeySet();

    /** Whether the store received an error of this state. */
    boolean saw(String state) {
        return states.contains(state);
    }

    /** Connections to this URL. */
    DataSource over(String url) {
        return (DataSource) Proxy.newProxyInstance(
                SqlWitness.class.getClassLoader(),
                new Class<?>[] {DataSource.class},
                (proxy, method, arguments) -> watched(Connection.class, DriverManager.getConnection(url)));
    }

    private Object watched(Class<?> type, Object real) {
        return Proxy.newProxyInstance(
                SqlWitness.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    try {
                        Object result = method.invoke(real, arguments);
                        if (result instanceof PreparedStatement) {
                            return watched(PreparedStatement.class, result);
                        }
                        return result instanceof Statement ? watched(Statement.class, result) : result;
                    } catch (InvocationTargetException e) {
                        if (e.getCause() instanceof SQLException said) {
                            states.add(String.valueOf(said.getSQLState()));
                        }
                        throw e.getCause();
                    }
                });
    }
}
