package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The state of a connection after each end of a task, and tasks that are not begun any more: in virtual time, over a
 * real database.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
class WorkerEdgesTest {

    private static final KeptConnection.Patience PATIENCE = new KeptConnection.Patience(10_000_000L, 2_500_000_000L);
    private static final long LIMIT = Duration.ofSeconds(60).toNanos();

    @TempDir
    private Path directory;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final WorkQueue queue = new WorkQueue(runtime, "here");
    private String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private final List<Connection> opened = new ArrayList<>();
    private final List<String> told = new ArrayList<>();
    private final List<Long> patience = new ArrayList<>();
    private Runnable beforeTheOpening = () -> {};
    private Runnable beforeTheWork = () -> {};
    private Runnable beforeTheEnd = () -> {};
    private @Nullable SQLException ofTheRollback;
    private @Nullable SQLException ofTheCommit;
    private @Nullable Exception ofTheOpening;
    private boolean leads = true;

    private Worker worker(Dialect dialect) throws SQLException {
        KeptConnection connections = KeptConnection.own(
                new KeptConnection.Opener() {
                    @Override
                    public LeaseTable open() throws SQLException {
                        return table(dialect);
                    }

                    @Override
                    public LeaseTable open(long withinNanos) throws SQLException {
                        patience.add(withinNanos);
                        beforeTheOpening.run();
                        return table(dialect);
                    }

                    @Override
                    public boolean leadsToStore() {
                        beforeTheWork.run();
                        return leads;
                    }

                    @Override
                    public void close() {
                        beforeTheEnd.run();
                    }
                },
                PATIENCE);
        return new Worker(runtime, queue, connections, dialect, "here", () -> told.add("reachable"));
    }

    private void start(Dialect dialect) throws SQLException {
        runtime.startThread("worker", worker(dialect));
    }

    private LeaseTable table(Dialect dialect) throws SQLException {
        Exception refused = ofTheOpening;
        ofTheOpening = null;
        if (refused instanceof SQLException failure) {
            throw failure;
        } else if (refused instanceof RuntimeException failure) {
            throw failure;
        }
        Connection real = DriverManager.getConnection(url);
        opened.add(real);
        Connection front = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    SQLException failure = ofTheRollback;
                    if (failure != null && method.getName().equals("rollback")) {
                        throw failure;
                    }
                    failure = ofTheCommit;
                    if (failure != null && method.getName().equals("commit")) {
                        ofTheCommit = null;
                        throw failure;
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return new LeaseTable(Loan.begin(front, Dialect.Tuning.NONE), dialect, new Incarnation("this one"));
    }

    @AfterEach
    void close() {
        ofTheRollback = null;
        queue.close();
        runtime.runFor(Duration.ofMillis(10));
    }

    private static String failed(FailureKind kind, LockStoreException error) {
        return kind + " " + error.getMessage();
    }

    private static Task<String> writing(Task.Work<String> work) {
        return Task.writing("a task", work, WorkerEdgesTest::failed);
    }

    private static Task<String> reading(Task.Work<String> work) {
        return Task.reading("a look", work, WorkerEdgesTest::failed);
    }

    private String outcome(Task<String> task) {
        CompletableFuture<String> answer = queue.submit(task, LIMIT);
        runtime.runFor(Duration.ofSeconds(1));
        return answer.getNow("open");
    }

    /** For example if a driver fails in an unusual way: the close of the client waits for the end. */
    @Test
    void itsEndIsToldThoughAConnectionCannotBeClosed() throws SQLException {
        Worker worker = worker(H2Dialect.dialect());
        beforeTheEnd = () -> {
            throw new IllegalStateException("made by the test");
        };
        queue.close();
        assertThatThrownBy(worker::run).hasMessage("made by the test");
        assertThat(worker.ended()).isDone();
    }

    private static Dialect with(Dialect of, SqlTrouble trouble, int code) {
        return new Dialect(
                of.database(),
                of.driver(),
                of.clock(),
                of.transaction(),
                of.leases(),
                of.store(),
                of.clients(),
                of.waking(),
                of.horizon(),
                of.tuning(),
                of.connecting(),
                e -> e.getErrorCode() == code ? trouble : of.troubles().apply(e),
                of.scope());
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private long count(LeaseTable table) throws SQLException {
        return table.number("SELECT COUNT(*) FROM notes");
    }

    private static void note(LeaseTable table) throws SQLException {
        table.prepared("INSERT INTO notes VALUES (1)").executeUpdate();
    }

    @Test
    void whoKeepsHoldsWaitsAsLongForAConnectionAsItsLimitAllowsAndWhoOnlyReadsLonger() throws SQLException {
        start(H2Dialect.dialect());
        Task<String> renewal = Task.renewing("a renewal", (table, tries) -> "done", WorkerEdgesTest::failed);
        queue.submit(renewal, 900_000_000L);
        runtime.runFor(Duration.ofSeconds(1));
        assertThat(renewal.future()).isCompletedWithValue("done");
        for (boolean writes : new boolean[] {true, false}) {
            loseConnection();
            patience.clear();
            assertThat(outcome(writes ? writing((table, tries) -> "done") : reading((table, tries) -> "done")))
                    .isEqualTo("done");
            assertThat(patience).containsExactly(writes ? 900_000_000L : 2_500_000_000L);
        }
    }

    /** The next task finds no connection, and one is opened for it. */
    private void loseConnection() {
        assertThat(outcome(writing((table, tries) -> {
                    throw new SQLException("the connection is broken", "08006", 90067);
                })))
                .startsWith("NO_EFFECT ");
    }

    @Test
    void whatATaskRefusesItselfIsUndoneAndTheConnectionIsKept() throws SQLException {
        execute("CREATE TABLE notes (n INT)");
        start(H2Dialect.dialect());
        assertThat(outcome(writing((table, tries) -> {
                    note(table);
                    throw new StoreUnavailableException("not now", null);
                })))
                .isEqualTo("NO_EFFECT not now");
        assertThat(outcome(reading((table, tries) -> count(table) + " notes"))).isEqualTo("0 notes");
        assertThat(opened.get(0).getAutoCommit()).isTrue();
        assertThat(outcome(writing((table, tries) -> "done"))).isEqualTo("done");
        assertThat(opened.get(0).getAutoCommit()).as("after a commit").isTrue();
        assertThat(opened).hasSize(1);
    }

    @Test
    void aConnectionWhoseTransactionCannotBeUndoneIsNotUsedAgain() throws SQLException {
        execute("CREATE TABLE notes (n INT)");
        start(H2Dialect.dialect());
        ofTheRollback = new SQLException("the connection is broken", "08006", 90067);
        assertThat(outcome(writing((table, tries) -> {
                    note(table);
                    throw new SQLException("something", "HY000", 1);
                })))
                .startsWith("NO_EFFECT ");
        ofTheRollback = null;
        assertThat(outcome(writing((table, tries) -> count(table) + " notes"))).isEqualTo("0 notes");
        assertThat(opened).hasSize(2);
        assertThat(opened.get(0).isClosed()).isTrue();
    }

    @Test
    void statementsOfATransactionThatFailedArePreparedAnew() throws SQLException {
        start(H2Dialect.dialect());
        List<Object> prepared = new ArrayList<>();
        for (boolean fails : new boolean[] {false, true, false}) {
            outcome(writing((table, tries) -> {
                prepared.add(table.prepared("SELECT 1"));
                if (fails) {
                    throw new SQLException("something", "HY000", 1);
                }
                return "done";
            }));
        }
        assertThat(prepared.get(1)).isSameAs(prepared.get(0));
        assertThat(prepared.get(2)).isNotSameAs(prepared.get(0));
    }

    @Test
    void whatIsTakenBackBeforeThePointOfNoReturnIsNotBegunAndLocksNothing() throws SQLException {
        start(H2Dialect.dialect());
        Task<String> task = writing((table, tries) -> {
            throw new AssertionError("begun");
        });
        beforeTheWork = () -> task.takeBack(new StoreUnavailableException("taken back", null));
        assertThat(outcome(task)).isEqualTo("NO_EFFECT taken back");
        assertThat(opened.get(0).getAutoCommit()).as("its transaction is over").isTrue();
        beforeTheWork = () -> {};
        assertThat(outcome(writing((table, tries) -> "done"))).isEqualTo("done");
        assertThat(opened).hasSize(1);
    }

    @Test
    void whatIsTakenBackBeforeItsOneStatementIsNotBegunAndTheConnectionIsKept() throws SQLException {
        start(H2Dialect.dialect());
        loseConnection();
        Task<String> task = Task.acquiring(
                OwnerToken.draw(runtime),
                "an acquire",
                (table, wait) -> {
                    throw new AssertionError("begun");
                },
                (table, tries) -> "done",
                WorkerEdgesTest::failed);
        beforeTheOpening = () -> task.takeBack(new StoreUnavailableException("taken back", null));
        opened.clear();
        assertThat(outcome(task)).isEqualTo("NO_EFFECT taken back");
        beforeTheOpening = () -> {};
        assertThat(outcome(writing((table, tries) -> "done"))).isEqualTo("done");
        assertThat(opened).hasSize(1);
    }

    /** pg_cancel_backend, KILL QUERY: the connection remains usable, and the statement had no effect. */
    @Test
    void aTransactionThatAnAdministratorInterruptedIsRepeatedUnlessItsCommitWas() throws SQLException {
        start(with(H2Dialect.dialect(), SqlTrouble.INTERRUPTED, 4711));
        SQLException interrupted = new SQLException("cancelled", "57014", 4711);
        assertThat(outcome(writing((table, tries) -> {
                    if (tries == 1) {
                        throw interrupted;
                    }
                    return "done by try " + tries;
                })))
                .isEqualTo("done by try 2");
        assertThat(opened).hasSize(1);
        assertThat(outcome(reading((table, tries) -> {
                    throw interrupted;
                })))
                .as("who reads is told")
                .startsWith("NO_EFFECT ");
        ofTheCommit = interrupted;
        assertThat(outcome(writing((table, tries) -> "done")))
                .as("it may have been carried out")
                .startsWith("UNKNOWN ");
        Task<String> quick = Task.acquiring(
                OwnerToken.draw(runtime),
                "an acquire",
                (table, wait) -> {
                    throw interrupted;
                },
                (table, tries) -> "done by try " + tries,
                WorkerEdgesTest::failed);
        assertThat(outcome(quick)).as("a statement may be repeated").isEqualTo("done by try 2");
    }

    @Test
    void aRowThatMayNotBeWaitedForIsInTheWayWhateverTheDatabaseCallsIt() throws SQLException {
        start(H2Dialect.dialect());
        assertThat(outcome(writing((table, tries) -> {
                    if (tries < 3) {
                        throw new RowLockedException("the row of x");
                    }
                    return "done by try " + tries;
                })))
                .isEqualTo("done by try 3");
        assertThat(opened).hasSize(1);
    }

    @Test
    void noTokenOfATransactionIsBeyondTheHorizonThatIsOnTheDisk() throws SQLException {
        url = "jdbc:sqlite:" + directory.resolve("t.db");
        Dialect dialect = SqliteDialect.dialect(false);
        try (Connection connection = DriverManager.getConnection(url)) {
            new SchemaCheck(dialect, runtime, "wall", "store X").prepare(connection);
        }
        start(dialect);
        long nowMicros = runtime.wallMillis() * 1000;
        String horizon = dialect.horizon().read();
        assertThat(outcome(writing((table, tries) -> "up to " + (table.number(horizon) - nowMicros))))
                .isEqualTo("up to " + 61_000_000);
        long far = nowMicros + 200_000_000L;
        List<Boolean> within = new ArrayList<>();
        assertThat(outcome(writing((table, tries) -> {
                    within.add(table.isWithinHorizon(far));
                    table.insert(new LeaseRow(VerbsBench.name("x"), "boot", null, null, 0, far));
                    return "done by try " + tries;
                })))
                .isEqualTo("done by try 2");
        assertThat(within).containsExactly(false, true);
        assertThat(opened).as("the connection is kept").hasSize(1);
        assertThat(outcome(reading((table, tries) -> "up to " + (table.number(horizon) - far))))
                .isEqualTo("up to " + 60_000_000);
    }

    /** Pools report in their own words that they have no connection to lend. */
    @Test
    void aDatabaseThatGaveNoConnectionForWhateverReasonWasAway() throws SQLException {
        start(H2Dialect.dialect());
        assertThat(outcome(writing((table, tries) -> {
                    throw new SQLException("damaged", "HY000", 90030);
                })))
                .startsWith("PERMANENT ");
        for (Exception reason : new Exception[] {
            new SQLException("the pool is empty", "HY000", 1),
            new IllegalStateException("no credentials"),
            new StoreUnavailableException("not now", null)
        }) {
            ofTheOpening = reason;
            assertThat(outcome(writing((table, tries) -> "done")))
                    .startsWith("NO_EFFECT ")
                    .contains(reason.getMessage());
            assertThat(told).isEmpty();
            assertThat(outcome(writing((table, tries) -> "done"))).isEqualTo("done");
            assertThat(told).as(reason.getMessage()).containsExactly("reachable");
            told.clear();
            assertThat(outcome(writing((table, tries) -> {
                        throw new SQLException("damaged", "HY000", 90030);
                    })))
                    .startsWith("PERMANENT ");
        }
    }

    @Test
    void aTaskThatIsOverWhenItsTurnComesIsNotCarriedOut() throws SQLException {
        start(H2Dialect.dialect());
        Task<String> look = reading((table, tries) -> {
            throw new AssertionError("begun");
        });
        queue.submit(look, LIMIT);
        assertThat(look.takeBack(new StoreUnavailableException("taken back", null)))
                .isTrue();
        assertThat(outcome(reading((table, tries) -> "done"))).isEqualTo("done");
        assertThat(look.future()).isCompletedWithValue("NO_EFFECT taken back");
        assertThat(opened).hasSize(1);
    }

    @Test
    void whyATaskWasGivenUpIsSaid() throws SQLException {
        start(H2Dialect.dialect());
        leads = false;
        assertThat(outcome(writing((table, tries) -> "done")))
                .isEqualTo("NO_EFFECT a task at here: connections to it keep breaking");
        beforeTheWork = queue::close;
        assertThat(outcome(writing((table, tries) -> "done")))
                .isEqualTo("NO_EFFECT a task at here: the store was closed");
    }

    @Test
    void anErrorThatNobodyExpectsIsAnsweredUndoneAndTheThreadGoesOn() throws SQLException {
        execute("CREATE TABLE notes (n INT)");
        start(H2Dialect.dialect());
        assertThat(outcome(writing((table, tries) -> {
                    note(table);
                    throw new IllegalStateException("made by the test");
                })))
                .isEqualTo(
                        "UNKNOWN a task at here failed unexpectedly: java.lang.IllegalStateException: made by the test");
        assertThat(outcome(reading((table, tries) -> count(table) + " notes"))).isEqualTo("0 notes");
    }

    @Test
    void nothingIsRememberedOfATaskThatIsDone() throws Exception {
        start(H2Dialect.dialect());
        WeakReference<Task<String>> done = done();
        for (int i = 0; i < 100 && done.get() != null; i++) {
            // The worker's own last task is another one.
            outcome(reading((table, tries) -> "done"));
            System.gc();
            Thread.sleep(1);
        }
        assertThat(done.get()).isNull();
    }

    private WeakReference<Task<String>> done() {
        Task<String> task = Task.acquiring(
                OwnerToken.draw(runtime), "an acquire", null, (table, tries) -> "done", WorkerEdgesTest::failed);
        assertThat(outcome(task)).isEqualTo("done");
        return new WeakReference<>(task);
    }
}
