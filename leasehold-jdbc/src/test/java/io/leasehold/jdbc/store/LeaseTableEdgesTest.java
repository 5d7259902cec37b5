package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static io.leasehold.jdbc.store.VerbsBench.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.Incarnation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Begin and end of a transaction that fails, and rows that this library has not written. */
@Tag("quick")
class LeaseTableEdgesTest {

    private static final String MEMORY = "jdbc:h2:mem:";

    @TempDir
    private Path directory;

    private String file() {
        return "jdbc:sqlite:" + directory.resolve("t.db");
    }

    private static Dialect with(Dialect of, Dialect.Clock clock, Dialect.Transaction transaction, String find) {
        Dialect.Leases leases = of.leases();
        return new Dialect(
                of.database(),
                of.driver(),
                clock,
                transaction,
                new Dialect.Leases(
                        find,
                        find,
                        leases.read(),
                        leases.insert(),
                        leases.update(),
                        leases.note(),
                        leases.extend(),
                        leases.held(),
                        leases.idle(),
                        leases.delete(),
                        null,
                        null),
                of.store(),
                of.clients(),
                of.waking(),
                null,
                of.tuning(),
                of.connecting(),
                of.troubles(),
                of.scope());
    }

    @Test
    void aTransactionThatCannotBeLimitedIsNotBegun() throws SQLException {
        Dialect h2 = H2Dialect.dialect();
        Dialect broken = with(
                h2,
                h2.clock(),
                new Dialect.ByDriver("SELECT nothing FROM nowhere WHERE a = ?"),
                h2.leases().find());
        try (VerbsBench bench = new VerbsBench(broken, MEMORY)) {
            assertThatThrownBy(() -> bench.table.begin(1)).isInstanceOf(SQLException.class);
            assertThat(bench.connection.getAutoCommit()).isTrue();
        }
    }

    @Test
    void theLimitIsToldInMillisecondsAndNeverAsNone() throws SQLException {
        Dialect h2 = H2Dialect.dialect();
        Dialect limited = with(
                h2,
                h2.clock(),
                new Dialect.ByDriver("SELECT * FROM FINAL TABLE (INSERT INTO limits (waits) VALUES (?))"),
                h2.leases().find());
        try (VerbsBench bench = new VerbsBench(limited, MEMORY)) {
            bench.execute("CREATE TABLE limits (waits VARCHAR)");
            String[] said = {"1ms", "1ms", "1ms", "2ms"};
            long[] nanos = {0, 999_999, 1_999_999, 2_000_000};
            for (int i = 0; i < said.length; i++) {
                bench.table.begin(nanos[i]);
                assertThat(bench.table.isPatient()).isEqualTo(nanos[i] > 0);
                assertThat(bench.connection.getAutoCommit()).isFalse();
                bench.table.commit();
                assertThat(bench.connection.getAutoCommit()).isTrue();
                assertThat(bench.table.number("SELECT COUNT(*) FROM limits WHERE waits = '" + said[i] + "'"))
                        .isEqualTo(i < 3 ? i + 1 : 1);
            }
        }
    }

    @Test
    void aTransactionThatIsRolledBackLeavesNothingAndOneThatIsOverIsNone() throws SQLException {
        for (boolean sqlite : new boolean[] {true, false}) {
            VerbsBench bench = sqlite
                    ? new VerbsBench(SqliteDialect.dialect(true), file())
                    : new VerbsBench(H2Dialect.dialect(), MEMORY);
            bench.table.begin(0);
            bench.table.insert(bench.row("x", null, null));
            assertThat(bench.table.rollbackIfActive()).isTrue();
            assertThat(bench.table.read(name("x"))).isNull();
            assertThat(bench.connection.getAutoCommit()).isTrue();
            assertThat(bench.table.rollbackIfActive()).as("there is none").isTrue();
            bench.table.forgetStatements();
            bench.connection.close();
            assertThat(bench.table.rollbackIfActive()).as("a dead connection").isFalse();
        }
    }

    @Test
    void aBeginThatFailedIsBegunAnewTheNextTime() throws SQLException {
        try (VerbsBench bench = new VerbsBench(SqliteDialect.dialect(true), file());
                Connection other = DriverManager.getConnection(file());
                Statement statement = other.createStatement()) {
            bench.execute("PRAGMA busy_timeout=1");
            statement.execute("BEGIN IMMEDIATE");
            assertThatThrownBy(() -> bench.table.begin(0)).isInstanceOf(SQLException.class);
            statement.execute("ROLLBACK");
            bench.table.begin(0);
            bench.table.insert(bench.row("x", null, null));
            bench.table.commit();
            assertThat(bench.table.read(name("x"))).isNotNull();
        }
    }

    @Test
    void namesThatThisLibraryWouldNotHaveWrittenAreNotItsLocks() throws SQLException {
        try (VerbsBench bench = new VerbsBench(SqliteDialect.dialect(true), file())) {
            bench.table.insert(bench.row("a", bench.held(ANN, TTL, "life one"), null));
            bench.table.insert(bench.row("b", bench.held(ANN, TTL, "life one"), null));
            bench.table.insert(bench.row("c", bench.held(BOB, TTL, null), null));
            bench.table.insert(bench.row("d", null, null));
            bench.execute("UPDATE leasehold_lock SET name = 'b' || char(7) WHERE name = 'b'");
            assertThat(bench.table.held(name -> true, Optional::of, 10))
                    .extracting(row -> row.name().text())
                    .containsExactly("a", "c");
            assertThat(bench.table.held(
                            name -> true,
                            row -> Optional.of(row)
                                    .filter(one -> !one.name().text().equals("a")),
                            10))
                    .hasSize(1);
            assertThat(bench.table.between(0, 100))
                    .extracting(LeaseTable.Idle::stored)
                    .containsExactlyInAnyOrder("a", "c", "d");
            assertThat(bench.table.lives()).containsExactly("life one");
        }
        try (VerbsBench bench = new VerbsBench(H2Dialect.dialect(), MEMORY)) {
            bench.table.insert(bench.row("a", bench.held(ANN, TTL, "a life"), null));
            assertThat(bench.table.lives()).as("where none are recorded").isEmpty();
        }
    }

    @Test
    void theLargestFenceOfATransactionIsThatOfAllItsRows() throws SQLException {
        try (VerbsBench bench = new VerbsBench(SqliteDialect.dialect(true), file())) {
            bench.table.begin(0);
            assertThat(bench.table.highestFence()).isZero();
            bench.table.insert(bench.row("a", null, null).withFenceAbove(50));
            bench.table.update(bench.row("a", null, null));
            assertThat(bench.table.highestFence()).isEqualTo(50);
            LeaseRow noted = bench.row("a", null, bench.waiter(BOB)).withFenceAbove(60);
            bench.table.note(noted);
            assertThat(bench.table.highestFence()).isEqualTo(60);
            bench.table.commit();
            assertThat(bench.read("a")).isEqualTo(noted);
            bench.table.note(bench.row("a", null, null).withFenceAbove(60));
            assertThat(bench.read("a").waiter()).isNull();
            bench.table.begin(0);
            assertThat(bench.table.highestFence()).as("of another").isZero();
            bench.table.rollback();
        }
    }

    @Test
    void aHorizonThatCannotBeRaisedLeavesNoTransactionAndTheBoundAsItWas() throws SQLException {
        try (VerbsBench bench = new VerbsBench(SqliteDialect.dialect(false), file())) {
            bench.execute("PRAGMA synchronous=NORMAL");
            bench.table.raiseHorizon(100, 10);
            assertThat(bench.table.isWithinHorizon(110)).isTrue();
            bench.execute(
                    "CREATE TRIGGER full BEFORE UPDATE ON leasehold_store BEGIN SELECT RAISE(ABORT, 'full'); END");
            assertThatThrownBy(() -> bench.table.raiseHorizon(200, 10)).isInstanceOf(SQLException.class);
            assertThat(bench.table.isWithinHorizon(111)).isFalse();
            assertThat(bench.table.number("PRAGMA synchronous")).as("NORMAL").isEqualTo(1);
            bench.execute("DROP TRIGGER full");
            bench.table.forgetStatements();
            bench.table.raiseHorizon(200, 10);
            assertThat(bench.table.isWithinHorizon(210)).isTrue();
            assertThat(bench.table.isWithinHorizon(211)).isFalse();
            bench.execute("UPDATE leasehold_store SET token_horizon = 500");
            bench.table.raiseHorizon(300, 10);
            assertThat(bench.table.isWithinHorizon(500))
                    .as("another process has moved it")
                    .isTrue();
        }
        try (VerbsBench bench = new VerbsBench(H2Dialect.dialect(), MEMORY)) {
            assertThat(bench.table.isWithinHorizon(Long.MAX_VALUE)).isTrue();
            bench.table.raiseHorizon(100, 10);
        }
    }

    @Test
    void aQueryForANumberThatFindsNoRowIsAnError() throws SQLException {
        try (VerbsBench bench = new VerbsBench(H2Dialect.dialect(), MEMORY)) {
            assertThatThrownBy(() -> bench.table.number("SELECT 1 WHERE 1 = 0"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no row from: SELECT 1");
        }
    }

    @Test
    void aTimeThatComesWithARowCountsFromTheAskingForIt() throws SQLException {
        Dialect h2 = H2Dialect.dialect();
        String find = "SELECT locked.*, CAST(42 AS BIGINT) FROM (SELECT 1) one LEFT JOIN ("
                + h2.leases().read() + ") locked ON TRUE";
        Dialect.DatabaseTime time = new Dialect.DatabaseTime("SELECT CAST(77 AS BIGINT)", true);
        try (VerbsBench bench = new VerbsBench(with(h2, time, h2.transaction(), find), MEMORY)) {
            DatabaseClock clock = new DatabaseClock(bench.runtime, time);
            long asked = bench.nowNanos - 5;
            StoreTime own = new StoreTime("database", 77_000, 77, bench.nowNanos);
            StoreTime withRow = new StoreTime("database", 42_000, 42, asked);
            assertThat(clock.kind()).isEqualTo("database");
            bench.table.begin(1);
            assertThat(clock.readBehindRows(bench.table, asked)).isEqualTo(own);
            assertThat(bench.table.find(name("absent"))).isNull();
            assertThat(clock.readBehindRows(bench.table, asked)).isEqualTo(withRow);
            LeaseRow row = bench.row("x", bench.held(ANN, TTL, null), null);
            bench.table.insert(row);
            assertThat(bench.table.find(name("x"))).isEqualTo(row);
            bench.table.commit();
            bench.table.begin(1);
            assertThat(clock.readBehindRows(bench.table, asked))
                    .as("of another")
                    .isEqualTo(own);
            bench.table.rollback();
            DatabaseClock apart = new DatabaseClock(bench.runtime, new Dialect.DatabaseTime(time.micros(), false));
            bench.table.begin(1);
            bench.table.find(name("x"));
            assertThat(apart.readBehindRows(bench.table, asked)).isEqualTo(own);
            bench.table.rollback();
        }
    }

    @Test
    void oneStatementIsGivenWhatWasAskedForAndItsAnswerIsReadAsItIs() throws SQLException {
        String echo =
                "SELECT owner, holder, expires, 9, token, fence, waiter, micros, TRUE FROM (SELECT CAST(? AS VARCHAR)"
                        + " || '/' || CAST(? AS VARCHAR) waiter, CAST(? AS VARCHAR) owner, CAST(? AS VARCHAR) holder,"
                        + " CAST(? AS BIGINT) expires, CAST(? AS BIGINT) token, CAST(? AS BIGINT) fence, CAST(7 AS BIGINT) micros)"
                        + " WHERE waiter = '250ms/x'";
        try (VerbsBench bench = new VerbsBench(VerbsBench.h2(echo, Dialect.Polling.INSTANCE), MEMORY)) {
            QuickAnswer answer =
                    bench.table.acquireAtOnce(request(ANN, "x").seenToken(40).reserve(3), 250_000_000L);
            LeaseRow.Held held = new LeaseRow.Held(ANN, "holder", TTL, 9, 41, null);
            assertThat(answer).isEqualTo(new QuickAnswer(true, held, 2, true, TTL - 7_000));
            assertThat(bench.table.acquireAtOnce(request(ANN, "y"), 250_000_000L))
                    .isNull();
        }
    }

    /** A pool's connection whose statements cannot be closed must not return to the pool. */
    @Test
    void aConnectionIsGivenBackWithoutStatementsOrNotAtAll() throws SQLException {
        for (boolean fails : new boolean[] {false, true}) {
            List<String> calls = new ArrayList<>();
            try (Connection real = DriverManager.getConnection(MEMORY)) {
                Connection front = (Connection) Proxy.newProxyInstance(
                        getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                            String name = method.getName();
                            if (name.equals("close") || name.equals("abort")) {
                                calls.add(name);
                                return null;
                            }
                            try {
                                Object result = method.invoke(real, arguments);
                                return result instanceof PreparedStatement statement
                                        ? noting(statement, calls, fails)
                                        : result;
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
                LeaseTable table = new LeaseTable(
                        Loan.begin(front, Dialect.Tuning.NONE), H2Dialect.dialect(), new Incarnation("this one"));
                assertThat(table.number("SELECT 1")).isEqualTo(1);
                assertThat(table.number("SELECT 1")).isEqualTo(1);
                table.giveBack();
                assertThat(calls)
                        .isEqualTo(
                                fails
                                        ? List.of("prepared", "statement", "abort", "close")
                                        : List.of("prepared", "statement", "close"));
                calls.clear();
                table.number("SELECT 2");
                table.discard();
                assertThat(calls).containsExactly("prepared", "statement", "abort", "close");
            }
        }
    }

    private static PreparedStatement noting(PreparedStatement real, List<String> calls, boolean fails) {
        calls.add("prepared");
        return (PreparedStatement) Proxy.newProxyInstance(
                LeaseTableEdgesTest.class.getClassLoader(),
                new Class<?>[] {PreparedStatement.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("close")) {
                        calls.add("statement");
                        if (fails) {
                            throw new SQLException("broken");
                        }
                    }
                    return method.invoke(real, arguments);
                });
    }
}
