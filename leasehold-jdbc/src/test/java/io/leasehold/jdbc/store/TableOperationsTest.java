package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ORIGIN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.spi.FailureKind;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The records for operators and the notes of operators; each task runs when the test says so. */
@Tag("quick")
class TableOperationsTest {

    private static final String ME = "host/1/me";
    private static final long KEPT = Duration.ofSeconds(15).toNanos();

    @TempDir
    private Path directory;

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private final List<LockName> takenAway = new ArrayList<>();
    private VerbsBench bench;
    private WorkQueue queue;
    private TableOperations operations;

    private void open(Dialect dialect, String at, boolean keepsClients) throws SQLException {
        bench = new VerbsBench(dialect, at);
        if (keepsClients) {
            bench.settings.schema().findOrMakeClients(bench.connection);
        }
        queue = new WorkQueue(bench.runtime, "store X");
        operations = new TableOperations(bench.settings, bench.runtime, queue, takenAway::add);
    }

    private void open() throws SQLException {
        open(H2Dialect.dialect(), url, true);
    }

    @AfterEach
    void close() throws SQLException {
        bench.close();
    }

    /** Carries out the next task, as the worker does. */
    private <T> T done(CompletableFuture<T> answer) throws SQLException {
        while (!answer.isDone()) {
            carryOut(Objects.requireNonNull(queue.take()));
        }
        return answer.join();
    }

    private <R> void carryOut(Task<R> task) throws SQLException {
        assertThat(task.start()).isTrue();
        bench.table.begin(0);
        try {
            task.succeed(Objects.requireNonNull(task.run(bench.table)));
            bench.table.commit();
        } finally {
            bench.table.rollbackIfActive();
            queue.finished(task);
        }
    }

    private static ClientRecord record(String holder) {
        return new ClientRecord(holder, "host", 1, "me", Instant.EPOCH, List.of());
    }

    private void announce(String holder) throws SQLException {
        done(operations.announce(record(holder), KEPT));
    }

    private Optional<ClientRecord> client(String holder) throws SQLException {
        return done(operations.client(holder));
    }

    private void execute(String sql) throws SQLException {
        bench.execute(sql);
    }

    private long count(String condition) throws SQLException {
        return bench.table.number("SELECT COUNT(*) FROM leasehold_client WHERE " + condition);
    }

    @Test
    void whatAClientTellsIsKeptForItsTimeAndItsBoot() throws SQLException {
        open();
        assertThat(operations.keepsClientRecords()).isTrue();
        announce(ME);
        bench.nowNanos += KEPT - 1;
        assertThat(client(ME)).contains(record(ME));
        assertThat(client("host/1/another")).isEmpty();
        bench.nowNanos++;
        assertThat(client(ME)).isEmpty();
        announce(ME);
        assertThat(client(ME)).as("told again").isPresent();
        execute("UPDATE leasehold_client SET origin = 'another boot'");
        assertThat(client(ME)).isEmpty();
    }

    /** Containers may have boot ids of their own: a record of another one counts if it may belong to this boot. */
    @Test
    void overAFileWhatAnotherBootToldCountsForAMinuteAtMost() throws SQLException {
        open(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"), true);
        long minute = Duration.ofMinutes(1).toNanos();
        Object[][] records = {
            {ORIGIN, 0L, false}, {ORIGIN, 1L, true}, {ORIGIN, minute + 1, true},
            {"that boot", 0L, false}, {"that boot", 1L, true}, {"that boot", minute, true},
            {"that boot", minute + 1, false}
        };
        for (Object[] told : records) {
            announce(ME);
            execute("UPDATE leasehold_client SET origin = '" + told[0] + "', expires_at = "
                    + (bench.nowNanos + (long) told[1]));
            assertThat(client(ME).isPresent()).as("%s %s", told).isEqualTo(told[2]);
            execute("UPDATE leasehold_client SET holder = 'told'");
            for (int i = 1; i <= 12; i++) {
                announce(ME);
            }
            assertThat(count("holder = 'told'")).as("%s %s", told).isEqualTo((boolean) told[2] ? 1 : 0);
            execute("DELETE FROM leasehold_client");
        }
    }

    @Test
    void whereNothingIsKeptNothingIsAskedFor() throws SQLException {
        open(H2Dialect.dialect(), url, false);
        assertThat(operations.keepsClientRecords()).isFalse();
        assertThat(operations.client(ME)).isCompletedWithValue(Optional.empty());
        assertThat(operations.announce(record(ME), KEPT)).isCompletedWithValue(null);
    }

    /** Otherwise a holder would not learn of the release by force. */
    @Test
    void whereNoClientIsKeptAHolderIsToldOnTheWayAlone() throws SQLException {
        open(VerbsBench.h2(null, new Dialect.ByNotifications("INSERT INTO words VALUES (?)", noDriver())), url, false);
        execute("CREATE TABLE words (word VARCHAR)");
        execute("DROP TABLE leasehold_client");
        assertThat(done(operations.tellTaken(LockName.exactly("x"), ME))).isTrue();
        assertThat(bench.table.number("SELECT COUNT(*) FROM words WHERE word LIKE '%x'"))
                .isEqualTo(1);
    }

    /** An operator who may release locks, and may not write to the table of clients. */
    @Test
    void aHolderIsToldOnTheWayAlsoIfNoNoteCanBeLeft() throws SQLException {
        open(VerbsBench.h2(null, new Dialect.ByNotifications("INSERT INTO words VALUES (?)", noDriver())), url, true);
        execute("CREATE TABLE words (word VARCHAR)");
        execute("DROP TABLE leasehold_client");
        CompletableFuture<Boolean> told = operations.tellTaken(LockName.exactly("x"), ME);
        carryOut(Objects.requireNonNull(queue.take()));
        Task<?> note = Objects.requireNonNull(queue.take());
        assertThatThrownBy(() -> carryOut(note)).isInstanceOf(SQLException.class);
        note.fail(FailureKind.PERMANENT, new StoreAccessException("no right", null));
        assertThat(told).isCompletedWithValue(true);
        assertThat(bench.table.number("SELECT COUNT(*) FROM words WHERE word LIKE '%x'"))
                .isEqualTo(1);
    }

    @Test
    void everyTwelfthRecordDeletesWhatHasExpired() throws SQLException {
        open();
        for (int round = 0; round < 2; round++) {
            execute("INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES ('over', 'this boot', "
                    + bench.nowNanos + ", 'x'), ('not over', 'this boot', " + (bench.nowNanos + 1)
                    + ", 'x'), ('of another boot', 'that boot', " + (bench.nowNanos + KEPT) + ", 'x')");
            announce(ME);
            assertThat(count("holder IN ('over', 'of another boot')")).isZero();
            assertThat(count("holder = 'not over'")).isEqualTo(1);
            execute("DELETE FROM leasehold_client WHERE holder = 'not over'");
            execute(
                    "INSERT INTO leasehold_client (holder, origin, expires_at, told) VALUES ('left', 'this boot', 1, 'x')");
            for (int i = 1; i < 12; i++) {
                announce(ME);
            }
            assertThat(count("holder = 'left'")).as("not with each record").isEqualTo(1);
            execute("DELETE FROM leasehold_client WHERE holder = 'left'");
        }
    }

    @Test
    void whatAnotherClientHasLockedIsLeftAndNotOverwritten() throws SQLException {
        open();
        announce(ME);
        bench.nowNanos += 2 * KEPT;
        for (int i = 1; i < 12; i++) {
            announce("host/1/another");
        }
        try (Connection other = DriverManager.getConnection(url);
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT * FROM leasehold_client WHERE holder = '" + ME + "' FOR UPDATE")
                    .close();
            announce("host/1/another");
            assertThat(count("holder = '" + ME + "'")).as("it is locked").isEqualTo(1);
            assertThatThrownBy(() -> announce(ME)).isInstanceOf(RowLockedException.class);
            assertThatThrownBy(() -> done(operations.tellTaken(LockName.exactly("x"), ME)))
                    .isInstanceOf(RowLockedException.class);
            other.rollback();
        }
    }

    private void announcementFails(LockStoreException why) {
        CompletableFuture<Void> told = operations.announce(record(ME), KEPT);
        while (!told.isDone()) {
            fail(Objects.requireNonNull(queue.take()), why);
        }
        assertThat(told).isCompletedExceptionally();
    }

    private <R> void fail(Task<R> task, LockStoreException why) {
        task.fail(FailureKind.PERMANENT, why);
        queue.finished(task);
    }

    /** A missing right does not affect the holder, so only the log reports it. */
    @Test
    void aMissingRightIsInTheLogOnceAndOtherFailuresAreNot() throws SQLException {
        open();
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            announcementFails(new StoreUnavailableException("it is away", null));
            assertThat(log.toString(StandardCharsets.UTF_8)).doesNotContain("leasehold_client");
            announcementFails(new StoreAccessException("no right to INSERT", null));
            announcementFails(new StoreAccessException("no right to UPDATE", null));
            announce(ME);
        } finally {
            System.setErr(before);
        }
        assertThat(log.toString(StandardCharsets.UTF_8))
                .containsOnlyOnce("store X: this client cannot tell operators of itself")
                .contains("(no right to INSERT)")
                .doesNotContain("it is away");
    }

    @Test
    void locksThatWereTakenAreToldWithTheNextRecordAndOnce() throws SQLException {
        open();
        done(operations.tellTaken(LockName.exactly("unknown"), ME));
        announce(ME);
        announce("host/1/another");
        for (String name : List.of("x", "y")) {
            assertThat(done(operations.tellTaken(LockName.exactly(name), ME))).isTrue();
        }
        assertThat(takenAway).isEmpty();
        announce("host/1/another");
        assertThat(takenAway).as("of another").isEmpty();
        announce(ME);
        assertThat(takenAway).containsExactly(LockName.exactly("x"), LockName.exactly("y"));
        announce(ME);
        assertThat(takenAway).hasSize(2);
    }

    @Test
    void whatIsToldOfLocksThatWereTakenIsBounded() throws SQLException {
        open();
        announce(ME);
        String name = "n".repeat(999);
        for (int i = 0; i < 10; i++) {
            done(operations.tellTaken(LockName.exactly(name), ME));
        }
        assertThat(count("LENGTH(taken) = 7999")).isEqualTo(1);
        execute("UPDATE leasehold_client SET taken = '" + "m".repeat(7_998) + "'");
        done(operations.tellTaken(LockName.exactly("a"), ME));
        assertThat(count("LENGTH(taken) = 8000")).isEqualTo(1);
        announce(ME);
        assertThat(takenAway).as("what is no name was not left by us").containsExactly(LockName.exactly("a"));
    }

    @Test
    void aWordOnTheWayIsHeardByItsHolderAlone() throws SQLException {
        Dialect.Waking told = new Dialect.ByNotifications("INSERT INTO told (payload) VALUES (?)", noDriver());
        open(VerbsBench.h2(null, told), url, false);
        execute("CREATE TABLE told (payload VARCHAR)");
        assertThat(done(operations.tellTaken(LockName.exactly("x"), ME))).isTrue();
        assertThat(bench.table.number(
                        "SELECT COUNT(*) FROM told WHERE payload = CHR(9) || '" + ME + "' || CHR(9) || 'x'"))
                .isEqualTo(1);
        operations.takenWord("\t" + ME + "\tx");
        assertThat(takenAway).as("nobody was named yet").isEmpty();
        operations.requestedBy(ME);
        operations.takenWord("\t" + ME + "\tx");
        assertThat(takenAway).as("a request named it").containsExactly(LockName.exactly("x"));
        takenAway.clear();
        CompletableFuture<Void> announced = operations.announce(record(ME), KEPT);
        operations.takenWord("\t" + ME + "\tx");
        operations.takenWord("\thost/1/another\ty");
        operations.takenWord("\t" + ME);
        operations.takenWord("\t" + ME + "\t\u0000");
        assertThat(takenAway).containsExactly(LockName.exactly("x"));
        assertThat(announced).as("no record is kept").isCompletedWithValue(null);
    }

    private static Dialect.Driver noDriver() {
        return (Dialect.Driver) java.lang.reflect.Proxy.newProxyInstance(
                TableOperationsTest.class.getClassLoader(),
                new Class<?>[] {Dialect.Driver.class},
                (proxy, method, arguments) -> {
                    throw new AssertionError(method);
                });
    }

    private List<Finding> diagnosis() throws SQLException {
        return done(operations.diagnose());
    }

    @Test
    void theDiagnosisTellsOfVersionIsolationClockAndClients() throws SQLException {
        open();
        assertThat(diagnosis()).extracting(Finding::check).containsExactly("version", "isolation", "clock", "clients");
        assertThat(diagnosis()).extracting(Finding::grade).containsOnly(Finding.Grade.GOOD);
        assertThat(diagnosis().get(0).reason()).startsWith("store X is H2 2.");
        assertThat(diagnosis().get(2).reason()).contains("from the start of this machine");
    }

    @Test
    void whereClientsCannotTellOfThemselvesTheDiagnosisSaysHowToLetThem() throws SQLException {
        open(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"), false);
        Finding clients = diagnosis().get(3);
        assertThat(clients.grade()).isEqualTo(Finding.Grade.WARNING);
        assertThat(clients.remedy())
                .startsWith("CREATE TABLE IF NOT EXISTS leasehold_client ( holder")
                .doesNotContain("\n");
    }

    @Test
    void theDiagnosisTellsOfAWallClockAndOfADatabaseWhoseClockDiffers() throws SQLException {
        open();
        StoreSettings of = bench.settings;
        MachineClock wall = new MachineClock(bench.runtime, null);
        operations = new TableOperations(with(of, wall), bench.runtime, queue, takenAway::add);
        assertThat(diagnosis().get(2)).satisfies(finding -> {
            assertThat(finding.grade()).isEqualTo(Finding.Grade.WARNING);
            assertThat(finding.reason()).contains("by this machine's wall clock");
        });
        long ahead = bench.micros() + 5_000_000;
        DatabaseClock database = new DatabaseClock(
                bench.runtime, new Dialect.DatabaseTime("SELECT CAST(" + ahead + " AS BIGINT)", false));
        operations = new TableOperations(with(of, database), bench.runtime, queue, takenAway::add);
        assertThat(diagnosis().get(2)).satisfies(finding -> {
            assertThat(finding.grade()).isEqualTo(Finding.Grade.WARNING);
            assertThat(finding.reason()).contains("the clock of store X is 5000 ms ahead of ours");
        });
    }

    private static StoreSettings with(StoreSettings of, StoreClock clock) {
        return new StoreSettings(
                of.description(),
                of.dialect(),
                of.guarantees(),
                clock,
                of.schema(),
                of.connections(),
                of.spare(),
                of.lives(),
                of.retention());
    }
}
