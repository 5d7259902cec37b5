package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.fencing.Admission;
import io.leasehold.jdbc.row.Column;
import io.leasehold.jdbc.row.InnoDb;
import io.leasehold.jdbc.row.RowDialect;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The statements for the caller's own rows, and the meaning of their results, on databases with special behaviour. */
@Tag("quick")
class OwnRowsTest {

    /** Stands for no row in a plan. */
    private static final Long NO_ROW = -1L;

    private final List<String> asked = new ArrayList<>();
    private final Deque<Integer> updates = new ArrayDeque<>();
    private final Deque<Long> tokens = new ArrayDeque<>();
    private @Nullable SQLException failure;

    private <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {type}, handler));
    }

    private Connection connection(String product) {
        return proxy(Connection.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "getAutoCommit" -> false;
            case "getMetaData" -> proxy(DatabaseMetaData.class, (data, of, none) -> product);
            case "prepareStatement" -> statement((String) arguments[0]);
            default -> throw new AssertionError(method);
        });
    }

    private PreparedStatement statement(String sql) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "executeUpdate" -> {
                if (failure != null) {
                    throw failure;
                }
                yield updates.remove();
            }
            case "executeQuery" -> {
                asked.add(sql.substring(sql.indexOf('?')));
                yield row(tokens.remove());
            }
            default -> null;
        });
    }

    private ResultSet row(Long token) {
        return proxy(ResultSet.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "next" -> !token.equals(NO_ROW);
            case "getLong" -> token;
            default -> null;
        });
    }

    private Admission admit(String product, List<Integer> updated, List<Long> newest) throws SQLException {
        asked.clear();
        updates.clear();
        tokens.clear();
        updates.addAll(updated);
        tokens.addAll(newest);
        Admission admission = SqlFencingGuard.of("orders", "id", "token").admit(connection(product), 1L, 5);
        assertThat(updates).isEmpty();
        assertThat(tokens).isEmpty();
        return admission;
    }

    @Test
    void aTokenIsAdmittedRejectedOrFindsNoRow() throws SQLException {
        assertThat(admit("H2", List.of(1), List.of())).isInstanceOf(Admission.Admitted.class);
        assertThat(admit("H2", List.of(0), List.of(NO_ROW))).isInstanceOf(Admission.Missing.class);
        assertThat(admit("H2", List.of(0), List.of(6L)))
                .isInstanceOfSatisfying(
                        Admission.Rejected.class,
                        no -> assertThat(no.toString()).contains("6"));
        assertThat(admit("H2", List.of(0, 1), List.of(5L)))
                .as("it was written meanwhile")
                .isInstanceOf(Admission.Admitted.class);
    }

    /** MySQL's driver may count only changed rows, and not a row that already has this token. */
    @Test
    void whereSnapshotsHideThePresentTheRowIsLockedAndLookedAtTheSecondTime() throws SQLException {
        for (String product : List.of("MySQL", "MariaDB")) {
            assertThat(admit(product, List.of(0, 0), List.of(5L, 5L))).isInstanceOf(Admission.Admitted.class);
            assertThat(asked).containsExactly("?", "? FOR UPDATE");
            assertThat(admit(product, List.of(0, 0), List.of(4L, 6L))).isInstanceOf(Admission.Rejected.class);
        }
        assertThat(admit("H2", List.of(0, 0, 1), List.of(5L, 5L))).isInstanceOf(Admission.Admitted.class);
        assertThat(asked).as("elsewhere it is not locked").containsExactly("?", "?");
    }

    @Test
    void aRowThatComesAndGoesIsAskedForAFewTimes() {
        assertThatThrownBy(() -> admit("H2", List.of(0, 0, 0, 0, 0), List.of(1L, 1L, 1L, 1L, 1L)))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("deleted and recreated");
        assertThat(updates).isEmpty();
        assertThat(tokens).isEmpty();
    }

    @Test
    void aKeyThatNamesSeveralRowsIsRefused() {
        assertThatThrownBy(() -> admit("H2", List.of(2), List.of()))
                .isInstanceOf(SQLException.class)
                .hasMessageContainingAll("names 2 rows", "must be unique");
    }

    @Test
    void aRowThatHasChangedSinceItWasReadIsToBeRepeatedAsJdbcSaysIt() throws SQLException {
        SQLException changed = new SQLException("Record has changed since last read", "HY000", 1020);
        SQLException other = new SQLException("Something else", "HY000", 1021);
        for (String product : List.of("MariaDB", "mysql")) {
            SQLException told = InnoDb.asJdbcSaysIt(changed, connection(product), "orders 1");
            assertThat((Throwable) told)
                    .isInstanceOf(SQLTransactionRollbackException.class)
                    .hasMessageContaining("orders 1")
                    .hasCause(changed);
            assertThat(told.getSQLState()).isEqualTo("40001");
            assertThat((Throwable) InnoDb.asJdbcSaysIt(other, connection(product), "orders 1"))
                    .isSameAs(other);
        }
        assertThat((Throwable) InnoDb.asJdbcSaysIt(changed, connection("H2"), "orders 1"))
                .isSameAs(changed);
        failure = changed;
        assertThatThrownBy(() -> admit("MariaDB", List.of(), List.of()))
                .isInstanceOf(SQLTransactionRollbackException.class)
                .hasMessageContaining("orders 1");
        assertThatThrownBy(() -> VersionCheck.of("orders", "id", "version").advance(connection("MariaDB"), 1L, 1))
                .isInstanceOf(SQLTransactionRollbackException.class);
    }

    @Test
    void namesThatWouldHaveToBeQuotedAreRefusedWhereverTheyStand() {
        assertThat(new Column("a.b.c_1", "id", "Token_2").describe(7)).isEqualTo("a.b.c_1 7");
        for (String bad : List.of("x y", "1x", "", "x;", "x.y.z.w", "x".repeat(64))) {
            assertThatIllegalArgumentException().isThrownBy(() -> new Column(bad, "id", "token"));
            assertThatIllegalArgumentException().isThrownBy(() -> new Column("orders", bad, "token"));
            assertThatIllegalArgumentException().isThrownBy(() -> new Column("orders", "id", bad));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> new Column("orders", "a.b", "token"));
        assertThatIllegalArgumentException().isThrownBy(() -> new Column("orders", "id", "a.b"));
    }

    @Test
    void oneRowIsTheLeastThatCanBeLocked() {
        RowLocks locks = RowLocks.speaking(connection("H2"), RowDialect.ofProduct("H2"));
        tokens.add(NO_ROW);
        assertThatIllegalArgumentException().isThrownBy(() -> locks.lockFree("orders", "id", "TRUE", 0));
        assertThat(tokens).hasSize(1);
        assertThatCode(() -> locks.lockFree("orders", "id", "TRUE OR ?", 1, 1)).doesNotThrowAnyException();
        assertThat(tokens).isEmpty();
    }
}
