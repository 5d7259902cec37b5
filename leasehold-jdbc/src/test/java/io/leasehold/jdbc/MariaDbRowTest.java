package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.jdbc.row.RowDialect;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Row locks and guards on a MariaDB with changed settings, and with the dialect of MySQL. */
@Tag("full")
@Timeout(120)
class MariaDbRowTest implements LockedReadersTests {

    @TempDir
    private static Path directory;

    private static @Nullable MariaDbServer server;

    @BeforeAll
    static void startServer() throws IOException, InterruptedException {
        server = MariaDbServer.start(directory, "--innodb-rollback-on-timeout=ON");
    }

    @AfterAll
    static void stopServer() {
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void makeTables() throws SQLException {
        try (Connection connection = server.connect()) {
            run(connection, "DROP TABLE IF EXISTS orders");
            run(connection, "DROP TABLE IF EXISTS order_event");
            run(
                    connection,
                    "CREATE TABLE orders (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, fencing_token BIGINT)");
            run(connection, "CREATE TABLE order_event (what VARCHAR(40) NOT NULL)");
            run(connection, "INSERT INTO orders (id, version) VALUES (1, 1), (2, 1)");
        }
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            assertThat(row.next()).isTrue();
            return row.getLong(1);
        }
    }

    @Override
    public Connection connect() throws SQLException {
        return server.connect();
    }

    private Connection withSnapshotIsolation() throws SQLException {
        Connection connection = transaction();
        run(connection, "SET SESSION innodb_snapshot_isolation = ON");
        connection.commit();
        return connection;
    }

    /** With this setting the server rolls back the whole transaction, but only reports a busy row. */
    @ParameterizedTest
    @ValueSource(longs = {0, 20})
    void aBusyRowThatCostTheTransactionIsNotCalledBusy(long waitMillis) throws SQLException {
        try (Connection mine = transaction();
                Connection theirs = transaction()) {
            assertThat(RowLocks.in(mine).lock("orders", "id", 1L)).isEqualTo(RowLock.LOCKED);
            run(theirs, "INSERT INTO order_event VALUES ('before')");
            RowLock outcome = RowLocks.in(theirs).tryLock("orders", "id", 1L, Duration.ofMillis(waitMillis));
            theirs.commit();
            assertThat(number(theirs, "SELECT COUNT(*) FROM order_event"))
                    .as("with the outcome %s", outcome)
                    .isEqualTo(outcome == RowLock.BUSY ? 1 : 0);
            assertThat(outcome).isIn(RowLock.BUSY, RowLock.ABORTED);
            mine.rollback();
        }
    }

    /** The default from MariaDB 11.6 on: a transaction cannot lock a row that has changed since its first read. */
    @Test
    void aRowThatChangedSinceTheSnapshotEndsTheTransaction() throws SQLException {
        try (Connection one = withSnapshotIsolation();
                Connection two = transaction()) {
            assertThat(number(one, "SELECT COUNT(*) FROM orders")).isEqualTo(2);
            run(two, "UPDATE orders SET version = 7 WHERE id = 1");
            two.commit();
            assertThat(RowLocks.in(one).lock("orders", "id", 1L)).isEqualTo(RowLock.ABORTED);
            one.rollback();
            assertThat(RowLocks.in(one).lock("orders", "id", 1L)).isEqualTo(RowLock.LOCKED);
            one.rollback();
        }
    }

    @Test
    void theGuardAndTheVersionCheckSayThatTheTransactionIsToBeRepeated() throws SQLException {
        SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
        VersionCheck versions = VersionCheck.of("orders", "id", "version");
        try (Connection one = withSnapshotIsolation();
                Connection two = transaction()) {
            long version = versions.read(one, 1L).orElseThrow();
            guard.admit(two, 1L, 9).orElseThrow();
            two.commit();
            assertThatThrownBy(() -> guard.admit(one, 1L, 8))
                    .isInstanceOfSatisfying(SQLTransactionRollbackException.class, e -> {
                        assertThat(e.getSQLState()).isEqualTo("40001");
                        assertThat(e.getMessage()).contains("orders 1", "roll back");
                    });
            one.rollback();
            assertThat(guard.admit(one, 1L, 8)).isEqualTo(new Admission.Rejected("orders 1", 8, 9));
            one.rollback();
            assertThat(versions.read(one, 1L)).hasValue(version);
            versions.advance(two, 1L, version);
            two.commit();
            assertThatThrownBy(() -> versions.advance(one, 1L, version))
                    .isInstanceOf(SQLTransactionRollbackException.class);
            one.rollback();
            assertThatThrownBy(() -> versions.advance(one, 1L, version)).isInstanceOf(StaleVersionException.class);
            one.rollback();
        }
    }

    /** Such a connection counts the rows that an update has changed, and not those that it has found. */
    @Test
    void anEqualTokenIsAdmittedWhateverTheDriverCounts() throws SQLException {
        SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
        try (Connection connection = DriverManager.getConnection(server.url() + "&useAffectedRows=true");
                Connection other = transaction()) {
            connection.setAutoCommit(false);
            for (int i = 0; i < 3; i++) {
                assertThat(guard.admit(connection, 1L, 7)).isEqualTo(new Admission.Admitted("orders 1", 7));
            }
            connection.commit();
            assertThat(guard.admit(connection, 1L, 7).isAdmitted()).isTrue();
            assertThat(RowLocks.in(other).tryLock("orders", "id", 1L))
                    .as("an admission locks the row")
                    .isNotEqualTo(RowLock.LOCKED);
            other.rollback();
            assertThat(guard.admit(connection, 1L, 6)).isEqualTo(new Admission.Rejected("orders 1", 6, 7));
            assertThat(guard.admit(connection, 9L, 6)).isEqualTo(new Admission.Missing("orders 9", 6));
            connection.rollback();
        }
    }

    /** The update of a reader that changes nothing counts no row there, and has locked it. */
    @Test
    void aReaderThatChangesNothingIsAdmittedWhateverTheDriverCounts() throws SQLException {
        try (Connection connection = DriverManager.getConnection(server.url() + "&useAffectedRows=true");
                Connection other = transaction()) {
            connection.setAutoCommit(false);
            ROWS.admit(connection, 1L, 5).orElseThrow();
            for (long token : new long[] {9, 9, 7}) {
                ROWS.admit(connection, 1L, token, Access.READ).orElseThrow();
            }
            connection.commit();
            assertThat(ROWS.admit(connection, 1L, 7, Access.READ)).isEqualTo(new Admission.Admitted("fenced 1", 7));
            assertThat(RowLocks.in(other).tryLock("fenced", "id", 1L)).isNotEqualTo(RowLock.LOCKED);
            other.rollback();
            assertThat(ROWS.admit(connection, 1L, 4, Access.READ)).isEqualTo(new Admission.Rejected("fenced 1", 4, 5));
            assertThat(ROWS.admit(connection, 9L, 4, Access.READ)).isEqualTo(new Admission.Missing("fenced 9", 4));
            assertThat(ROWS.admit(connection, 1L, 9))
                    .as("the same token as a writer's")
                    .isEqualTo(new Admission.Admitted("fenced 1", 9));
            assertThat(ROWS.admit(connection, 1L, 9)).isEqualTo(new Admission.Admitted("fenced 1", 9));
            connection.rollback();
        }
    }

    // --- MySQL's statements, which MariaDB also understands

    private static RowLocks asMySql(Connection connection) {
        return RowLocks.speaking(connection, RowDialect.ofProduct("MySQL"));
    }

    private static long limit(Connection connection) throws SQLException {
        return number(connection, "SELECT @@innodb_lock_wait_timeout");
    }

    @Test
    void aBoundedWaitByTheSettingOfTheSessionLeavesItAsItWas() throws Exception {
        try (Connection mine = transaction();
                Connection theirs = transaction()) {
            run(theirs, "SET SESSION innodb_lock_wait_timeout = 37");
            RowLocks rows = asMySql(theirs);
            assertThat(rows.tryLock("orders", "id", 1L, Duration.ofSeconds(5))).isEqualTo(RowLock.LOCKED);
            assertThat(limit(theirs)).isEqualTo(37);
            assertThat(rows.tryLock("orders", "id", 9L, Duration.ofSeconds(5))).isEqualTo(RowLock.MISSING);
            theirs.rollback();

            RowLocks.in(mine).lock("orders", "id", 1L);
            assertThat(rows.tryLock("orders", "id", 1L, Duration.ofMillis(1))).isNotEqualTo(RowLock.LOCKED);
            assertThat(limit(theirs)).as("after a busy row").isEqualTo(37);
            theirs.rollback();
            mine.rollback();

            assertThatThrownBy(() -> rows.tryLock("orders", "no_such_column", 1L, Duration.ofSeconds(5)))
                    .isInstanceOf(SQLException.class);
            assertThat(limit(theirs)).as("after an error").isEqualTo(37);
        }
    }

    @Test
    void theSettingIsAsItWasAfterADeadlockToo() throws Exception {
        try (Connection mine = transaction();
                Connection theirs = transaction()) {
            run(theirs, "SET SESSION innodb_lock_wait_timeout = 37");
            // The server aborts the transaction that has written less.
            run(mine, "UPDATE orders SET version = 5 WHERE id = 1");
            run(mine, "INSERT INTO order_event VALUES ('a'), ('b'), ('c')");
            assertThat(asMySql(theirs).lock("orders", "id", 2L)).isEqualTo(RowLock.LOCKED);
            CompletableFuture<RowLock> other = CompletableFuture.supplyAsync(() -> {
                try {
                    return RowLocks.in(mine).lock("orders", "id", 2L);
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            RowLock outcome = asMySql(theirs).tryLock("orders", "id", 1L, Duration.ofSeconds(60));
            assertThat(limit(theirs)).as("after the outcome %s", outcome).isEqualTo(37);
            theirs.rollback();
            assertThat(other.get()).isIn(RowLock.LOCKED, RowLock.ABORTED);
            mine.rollback();
        }
    }
}
