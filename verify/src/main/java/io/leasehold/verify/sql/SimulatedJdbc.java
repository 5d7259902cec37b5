package io.leasehold.verify.sql;

import io.leasehold.verify.sql.RowStore.Answer;
import io.leasehold.verify.sql.RowStore.Count;
import io.leasehold.verify.sql.RowStore.Rows;
import io.leasehold.verify.sql.Statements.Op;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGNotification;

/** A JDBC driver with the features that the lease table uses: each statement is sent over a {@link Wire}. */
final class SimulatedJdbc {

    private static final int MAX_PARAMETERS = 12;

    private SimulatedJdbc() {}

    /** Supplies a connection. */
    interface Source {
        /** Returns a new, open one. */
        Wire open() throws SQLException;
    }

    static DataSource dataSource(Source source, Flavour flavour, Statements statements) {
        return proxy(DataSource.class, (proxy, method, args) -> switch (method.getName()) {
            case "getConnection" -> connection(new Line(source.open(), flavour, statements));
            default -> throw unknown(method.getName());
        });
    }

    private static UnsupportedOperationException unknown(String method) {
        return new UnsupportedOperationException("the simulated driver has no " + method);
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(
                Objects.requireNonNullElse(type.getClassLoader(), SimulatedJdbc.class.getClassLoader()),
                new Class<?>[] {type},
                handler));
    }

    /** The state of one connection of the driver. */
    private static final class Line {
        private final Wire wire;
        private final Flavour flavour;
        private final Statements statements;
        private boolean autoCommit = true;

        Line(Wire wire, Flavour flavour, Statements statements) {
            this.wire = wire;
            this.flavour = flavour;
            this.statements = statements;
        }

        Op op(Object sql) {
            try {
                return statements.of((String) sql);
            } catch (IllegalStateException e) {
                wire.modelFails(String.valueOf(e.getMessage()));
                throw e;
            }
        }

        Answer ask(Op op, @Nullable Object... params) throws SQLException {
            return wire.ask(op, params, autoCommit);
        }
    }

    private static Connection connection(Line line) {
        return proxy(Connection.class, (proxy, method, args) -> switch (method.getName()) {
            case "prepareStatement" -> prepared(line, line.op(args[0]));
            case "createStatement" -> plain(line);
            case "commit" -> line.ask(Op.COMMIT);
            case "rollback" -> line.ask(Op.ROLLBACK);
            case "getAutoCommit" -> line.autoCommit;
            case "setAutoCommit" -> {
                line.autoCommit = (Boolean) args[0];
                yield null;
            }
            case "getNetworkTimeout" -> line.wire.timeoutMillis;
            case "setNetworkTimeout" -> {
                if (line.wire.isBroken()) {
                    throw Flavour.lost();
                }
                line.wire.timeoutMillis = (Integer) args[1];
                yield null;
            }
            case "abort", "close" -> {
                line.wire.close();
                yield null;
            }
            case "isClosed" -> line.wire.isBroken();
            case "isReadOnly" -> false;
            case "getMetaData" -> metaData(line);
            case "isWrapperFor" ->
                line.flavour == Flavour.POSTGRESQL
                        && ((Class<?>) args[0]).getName().endsWith(".PGConnection");
            case "unwrap" -> proxy((Class<?>) args[0], (own, call, with) -> postgres(line, call.getName(), with));
            default -> throw unknown(method.getName());
        });
    }

    private static DatabaseMetaData metaData(Line line) {
        return proxy(DatabaseMetaData.class, (proxy, method, args) -> switch (method.getName()) {
            case "getURL" -> "jdbc:" + line.flavour.product.toLowerCase(java.util.Locale.ROOT) + "://model/locks";
            case "getDatabaseProductName" -> line.flavour.product;
            default -> throw unknown(method.getName());
        });
    }

    /** The methods of PostgreSQL's own driver. */
    private static @Nullable Object postgres(Line line, String method, @Nullable Object[] args) throws SQLException {
        return switch (method) {
            case "getPrepareThreshold" -> 5;
            case "setPrepareThreshold" -> null;
            case "getNotifications" -> notifications(line.wire.next((Integer) Objects.requireNonNull(args[0])));
            default -> throw unknown(method);
        };
    }

    private static PGNotification[] notifications(List<String> payloads) {
        return payloads.stream()
                .map(payload -> proxy(PGNotification.class, (proxy, method, args) -> payload))
                .toArray(PGNotification[]::new);
    }

    private static Statement plain(Line line) {
        return proxy(Statement.class, (proxy, method, args) -> switch (method.getName()) {
            case "execute" -> line.ask(line.op(args[0])) instanceof Rows;
            case "executeQuery" -> result(line.ask(line.op(args[0])));
            case "close" -> null;
            default -> throw unknown(method.getName());
        });
    }

    private static PreparedStatement prepared(Line line, Op op) {
        @Nullable Object[] params = new @Nullable Object[MAX_PARAMETERS];
        return proxy(PreparedStatement.class, (proxy, method, args) -> switch (method.getName()) {
            case "setString", "setLong", "setInt" -> {
                params[(Integer) args[0] - 1] = args[1];
                yield null;
            }
            case "executeQuery" -> result(line.ask(op, params));
            case "executeUpdate" -> ((Count) line.ask(op, params)).rows();
            case "execute" -> line.ask(op, params) instanceof Rows;
            case "close" -> null;
            default -> throw unknown(method.getName());
        });
    }

    private static ResultSet result(Answer answer) {
        List<@Nullable Object[]> rows = ((Rows) answer).rows();
        int[] at = {-1};
        return proxy(ResultSet.class, (proxy, method, args) -> switch (method.getName()) {
            case "next" -> ++at[0] < rows.size();
            case "getString" -> rows.get(at[0])[(Integer) args[0] - 1];
            case "getLong" -> {
                Object value = rows.get(at[0])[(Integer) args[0] - 1];
                yield value == null ? 0L : ((Number) value).longValue();
            }
            case "getInt" -> {
                Object value = rows.get(at[0])[(Integer) args[0] - 1];
                yield value == null ? 0 : ((Number) value).intValue();
            }
            case "getBoolean" -> rows.get(at[0])[(Integer) args[0] - 1];
            case "close" -> null;
            default -> throw unknown(method.getName());
        });
    }
}
