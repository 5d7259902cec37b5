package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bound of tokens is on the disk before a token reaches it, so a loss of power loses no larger token. */
@Tag("quick")
class HorizonTest {

    @TempDir
    private Path directory;

    private final List<String> said = new ArrayList<>();
    /** The action of another process between the read and the write. */
    private Meanwhile meanwhile = () -> {};

    private interface Meanwhile {
        void happens() throws SQLException;
    }

    /** Records the statements in their order. */
    private <T> T noting(Class<T> type, Object real, String sql) {
        return type.cast(Proxy.newProxyInstance(
                HorizonTest.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    String name = method.getName();
                    String text = arguments != null && arguments[0] instanceof String own ? own : sql;
                    if (name.startsWith("execute")) {
                        said.add(text);
                        if (text.equals("PRAGMA synchronous=FULL")) {
                            meanwhile.happens();
                        }
                    }
                    try {
                        Object result = method.invoke(real, arguments);
                        return name.equals("createStatement") || name.equals("prepareStatement")
                                ? noting(method.getReturnType(), result, text)
                                : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @Test
    void itIsRaisedInATransactionThatWaitsForTheDiskAndNoOtherDoes() throws Exception {
        Dialect dialect = SqliteDialect.dialect(false);
        String url = "jdbc:sqlite:" + directory.resolve("t.db");
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (Connection real = DriverManager.getConnection(url);
                Statement statement = real.createStatement()) {
            statement.execute("PRAGMA synchronous=NORMAL");
            var incarnation = new SchemaCheck(dialect, runtime, "wall", "store X").prepare(real);
            Connection noted = noting(Connection.class, real, "");
            LeaseTable table = new LeaseTable(Loan.begin(noted, Dialect.Tuning.NONE), dialect, incarnation);
            assertThat(table.isWithinHorizon(100)).isFalse();
            table.raiseHorizon(100, 50);
            assertThat(said)
                    .containsSubsequence(
                            "PRAGMA synchronous=FULL", "BEGIN IMMEDIATE", "COMMIT", "PRAGMA synchronous=NORMAL");
            assertThat(table.isWithinHorizon(150)).isTrue();
            assertThat(table.isWithinHorizon(151)).isFalse();
            said.clear();
            table.raiseHorizon(150, 50);
            assertThat(said).as("it is there already").doesNotContain("BEGIN IMMEDIATE");
            table.forgetStatements();
        } finally {
            runtime.close();
        }
    }

    /** The other process has promised its tokens up to there: the bound on the disk never decreases. */
    @Test
    void whatAnotherProcessHasRaisedFurtherMeanwhileStays() throws Exception {
        Dialect dialect = SqliteDialect.dialect(false);
        String url = "jdbc:sqlite:" + directory.resolve("t.db");
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (Connection real = DriverManager.getConnection(url);
                Connection other = DriverManager.getConnection(url);
                Statement statement = other.createStatement()) {
            var incarnation = new SchemaCheck(dialect, runtime, "wall", "store X").prepare(real);
            Connection noted = noting(Connection.class, real, "");
            LeaseTable table = new LeaseTable(Loan.begin(noted, Dialect.Tuning.NONE), dialect, incarnation);
            meanwhile = () -> statement.executeUpdate("UPDATE leasehold_store SET token_horizon = 1000");
            table.raiseHorizon(100, 50);
            assertThat(table.isWithinHorizon(1_000)).isTrue();
            assertThat(table.isWithinHorizon(1_001)).isFalse();
            assertThat(table.number("SELECT token_horizon FROM leasehold_store"))
                    .isEqualTo(1_000);
            table.forgetStatements();
        } finally {
            runtime.close();
        }
    }
}
