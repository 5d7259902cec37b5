package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.RowDialect;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The statements that lock a row on each database, and the cost of its errors; the tests at real servers show their
 * effect.
 */
@Tag("quick")
class RowLocksStatementsTest {

    private static final String ROW = "SELECT id FROM orders WHERE id = ? FOR UPDATE";
    private final SQLException deadlock = new SQLException("deadlock", "40P01");

    private final List<String> said = new ArrayList<>();
    private final Map<String, SQLException> fails = new HashMap<>();
    private final Map<String, @Nullable Object> answers = new HashMap<>();

    private <T> T proxy(Class<T> type, java.lang.reflect.InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {type}, handler));
    }

    private Connection connection(String product) {
        return proxy(Connection.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "createStatement" -> statement(Statement.class, null);
            case "prepareStatement" -> statement(PreparedStatement.class, (String) arguments[0]);
            case "getMetaData" -> proxy(DatabaseMetaData.class, (data, asked, none) -> product);
            case "setSavepoint" -> {
                said.add("savepoint");
                yield proxy(Savepoint.class, (savepoint, asked, none) -> null);
            }
            case "releaseSavepoint", "rollback" -> {
                said.add(method.getName());
                yield null;
            }
            default -> throw new AssertionError(method);
        });
    }

    private <T extends Statement> T statement(Class<T> type, @Nullable String prepared) {
        return proxy(type, (proxy, method, arguments) -> {
            if (!method.getName().startsWith("execute")) {
                return null;
            }
            String sql = prepared == null ? (String) arguments[0] : prepared;
            said.add(sql);
            SQLException failure = fails.get(sql);
            if (failure != null) {
                throw failure;
            }
            return method.getName().equals("executeQuery") ? row(answers.get(sql)) : (Object) true;
        });
    }

    /** One row with this value, or none. */
    private ResultSet row(@Nullable Object value) {
        return proxy(ResultSet.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "next" -> value != null;
            case "close" -> null;
            default -> value;
        });
    }

    private RowLock lock(String product, Duration maxWait) throws SQLException {
        said.clear();
        return RowLocks.speaking(connection(product), RowDialect.ofProduct(product))
                .tryLock("orders", "id", 1L, maxWait);
    }

    @Test
    void aBoundedWaitIsToldToEachDatabaseInItsOwnWords() throws SQLException {
        Duration wait = Duration.ofMillis(1_050);
        assertThat(lock("H2", wait)).isEqualTo(RowLock.MISSING);
        assertThat(said).containsExactly(ROW + " WAIT 1.050");
        answers.put(ROW + " WAIT 2", 1L);
        assertThat(lock("MariaDB", wait)).isEqualTo(RowLock.LOCKED);
        assertThat(said).containsExactly(ROW + " WAIT 2");
        assertThat(lock("MariaDB", Duration.ofSeconds(2))).isEqualTo(RowLock.LOCKED);
        lock("H2", Duration.ofNanos(1));
        assertThat(said).as("never without end").containsExactly(ROW + " WAIT 0.001");
        lock("H2", Duration.ofSeconds(Long.MAX_VALUE));
        assertThat(said).containsExactly(ROW + " WAIT 1000000.000");
        lock("H2", Duration.ZERO);
        assertThat(said).containsExactly(ROW + " NOWAIT");
        assertThatIllegalArgumentException().isThrownBy(() -> lock("H2", Duration.ofNanos(-1)));
    }

    @Test
    void aSettingOfATransactionIsAsItWasAfterwardsAndABusyRowCostsNothingElse() throws SQLException {
        answers.put("SHOW lock_timeout", "7s");
        answers.put(ROW, 1L);
        String before = "SHOW lock_timeout";
        String set = "SET LOCAL lock_timeout = '1050ms'";
        String back = "SET LOCAL lock_timeout = '7s'";
        Duration wait = Duration.ofMillis(1_050);
        assertThat(lock("PostgreSQL", wait)).isEqualTo(RowLock.LOCKED);
        assertThat(said).containsExactly(before, set, "savepoint", ROW, "releaseSavepoint", back);
        fails.put(ROW, new SQLException("locked", "55P03"));
        assertThat(lock("PostgreSQL", wait)).isEqualTo(RowLock.BUSY);
        assertThat(said).containsExactly(before, set, "savepoint", ROW, "rollback", "releaseSavepoint", back);
        fails.put(ROW, deadlock);
        assertThat(lock("PostgreSQL", wait)).isEqualTo(RowLock.ABORTED);
        assertThat(said).as("it ends with the transaction").containsExactly(before, set, "savepoint", ROW);
        fails.put(ROW, new SQLException("else", "42000"));
        assertThatThrownBy(() -> lock("PostgreSQL", wait)).isSameAs(fails.get(ROW));
        assertThat(said).containsExactly(before, set, "savepoint", ROW);
    }

    @Test
    void aSettingOfASessionIsAsItWasAfterwardsWhateverHappens() throws SQLException {
        String before = "SELECT @@innodb_lock_wait_timeout";
        String costs = "SELECT @@innodb_rollback_on_timeout";
        answers.put(before, "50");
        answers.put(ROW, 1L);
        answers.put(costs, false);
        String set = "SET SESSION innodb_lock_wait_timeout = 2";
        String back = "SET SESSION innodb_lock_wait_timeout = 50";
        Duration wait = Duration.ofMillis(1_001);
        assertThat(lock("MySQL", wait)).isEqualTo(RowLock.LOCKED);
        assertThat(said).containsExactly(before, set, ROW, back);
        fails.put(ROW, new SQLException("waited", "40001", 1205));
        assertThat(lock("MySQL", wait)).as("the transaction goes on").isEqualTo(RowLock.BUSY);
        assertThat(said).containsExactly(before, set, ROW, costs, back);
        answers.put(costs, true);
        assertThat(lock("MySQL", wait)).as("set to roll back").isEqualTo(RowLock.ABORTED);
        assertThat(said).containsExactly(before, set, ROW, costs, back);
        fails.put(ROW, new SQLException("not to be waited for", "HY000", 3572));
        assertThat(lock("MySQL", wait)).as("that costs nothing").isEqualTo(RowLock.BUSY);
        assertThat(said).containsExactly(before, set, ROW, back);
        fails.put(ROW, new SQLException("deadlock", "40001", 1213));
        assertThat(lock("MySQL", wait)).isEqualTo(RowLock.ABORTED);
        assertThat(said).containsExactly(before, set, ROW, back);
        fails.put(ROW, new SQLException("changed since", "HY000", 1020));
        assertThat(lock("MySQL", wait)).isEqualTo(RowLock.ABORTED);
        SQLException other = new SQLException("else", "42000", 1);
        fails.put(ROW, other);
        assertThatThrownBy(() -> lock("MySQL", wait)).isSameAs(other);
        assertThat(said).containsExactly(before, set, ROW, back);
        fails.put(back, new SQLException("broken", "08006"));
        assertThatThrownBy(() -> lock("MySQL", wait)).isSameAs(other).hasSuppressedException(fails.get(back));
    }

    @Test
    void onlyDatabasesWhoseRowsCanBeLockedAreKnown() {
        assertThat(RowDialect.ofProduct("postgresql").errorsAbort()).isTrue();
        assertThat(RowDialect.ofProduct("MYSQL").database()).isEqualTo("MySQL");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RowDialect.ofProduct("SQLite"))
                .withMessageContaining("whole files");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RowDialect.ofProduct("Oracle"))
                .withMessageContaining("\"Oracle\"");
    }

    @Test
    void anErrorWithoutAStateIsNeitherBusyNorAborted() {
        SQLException plain = new SQLException("plain", (String) null, 7);
        for (String product : List.of("H2", "PostgreSQL", "MariaDB", "MySQL")) {
            RowDialect dialect = RowDialect.ofProduct(product);
            assertThat(dialect.isBusy(plain)).isFalse();
            assertThat(dialect.isAborted(plain)).isFalse();
            assertThat(dialect.isAborted(deadlock)).isTrue();
        }
        assertThat(RowDialect.ofProduct("H2").isBusy(new SQLException("locked", "HYT00")))
                .isTrue();
        assertThat(RowDialect.ofProduct("H2").isBusy(new SQLException("locked", null, 50200)))
                .isTrue();
    }

    @Test
    void aChangeSinceTheFirstReadIsSaidAsJdbcSaysItWhereInnoDbIsBehind() throws SQLException {
        SQLException changed = new SQLException("changed", "HY000", 1020);
        assertThat((Throwable) InnoDb.asJdbcSaysIt(changed, connection("PostgreSQL"), "orders 1"))
                .isSameAs(changed);
        SQLException other = new SQLException("other", "HY000", 1021);
        assertThat((Throwable) InnoDb.asJdbcSaysIt(other, connection("MariaDB"), "orders 1"))
                .isSameAs(other);
        for (String product : List.of("MariaDB", "MySQL")) {
            assertThat((Throwable) InnoDb.asJdbcSaysIt(changed, connection(product), "orders 1"))
                    .isInstanceOf(SQLTransactionRollbackException.class)
                    .hasMessageContainingAll("orders 1", "roll back and repeat")
                    .hasCause(changed);
        }
    }

    @Test
    void namesGoIntoStatementsAsTheyAreSoOnlyPlainOnesAreTaken() {
        Column column = new Column("db.shop.orders", "id", "_token9");
        assertThat(column.describe(7)).isEqualTo("db.shop.orders 7");
        String tooLong = "x".repeat(64);
        assertThat(new Column("x".repeat(63), "id", "id").table()).hasSize(63);
        for (String[] names : new String[][] {
            {"a.b.c.d", "id", "id"},
            {"orders", "a.b", "id"},
            {"orders", "id", "1st"},
            {tooLong, "id", "id"},
            {"", "id", "id"}
        }) {
            assertThatIllegalArgumentException().isThrownBy(() -> new Column(names[0], names[1], names[2]));
        }
    }
}
