package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The end of a task whose connection, statement or commit fails: in virtual time, over a real database. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
class WorkerTest {

    private static final KeptConnection.Patience PATIENCE = new KeptConnection.Patience(10_000_000L, 2_500_000_000L);
    private static final long LIMIT = Duration.ofSeconds(60).toNanos();

    private final SQLException contention = new SQLException("locked", "HYT00", 50200);
    private final SQLException broken = new SQLException("broken", "08006", 90067);
    private final SQLException readOnly = new SQLException("read only", "HY000", 90097);
    private final SQLException full = new SQLException("full", "HY000", 90100);
    private final SQLException damaged = new SQLException("damaged", "HY000", 90030);
    private final SQLException access = new SQLException("no right", "HY000", 90096);
    private final SQLException other = new SQLException("something", "HY000", 1);

    /** Stands for success in a plan. */
    private final SQLException none = new SQLException("none");

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final WorkQueue queue = new WorkQueue(runtime, "here");
    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private final List<Connection> opened = new ArrayList<>();
    private final Deque<Exception> opening = new ArrayDeque<>();
    private final Deque<SQLException> commits = new ArrayDeque<>();
    private final Deque<SQLException> works = new ArrayDeque<>();
    private final List<Long> runAtNanos = new ArrayList<>();
    private final List<String> told = new ArrayList<>();
    private boolean leads = true;
    private boolean loginMayChange;
    private long openingTakesNanos;
    private long workTakesNanos;
    private long checkTakesNanos;
    private @Nullable Worker worker;

    private Worker start(Dialect dialect, KeptConnection.Patience patience) throws SQLException {
        KeptConnection connections = KeptConnection.own(
                new KeptConnection.Opener() {
                    @Override
                    public LeaseTable open() throws SQLException {
                        return table(dialect);
                    }

                    @Override
                    public boolean leadsToStore() {
                        pause(checkTakesNanos);
                        return leads;
                    }

                    @Override
                    public boolean loginMayChange() {
                        return loginMayChange;
                    }
                },
                patience);
        Worker made = new Worker(runtime, queue, connections, dialect, "here", () -> told.add("reachable"));
        worker = made;
        runtime.startThread("worker", made);
        return made;
    }

    private Worker start() throws SQLException {
        return start(H2Dialect.dialect(), PATIENCE);
    }

    @AfterEach
    void close() {
        queue.close();
        goOn(10);
        assertThat(worker == null || worker.ended().isDone()).isTrue();
    }

    private LeaseTable table(Dialect dialect) throws SQLException {
        pause(openingTakesNanos);
        Exception error = opening.poll();
        if (error instanceof SQLException failed) {
            throw failed;
        } else if (error instanceof LockStoreException refused) {
            throw refused;
        }
        Connection real = DriverManager.getConnection(url);
        opened.add(real);
        Connection front = (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit")) {
                        throwNext(commits);
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return new LeaseTable(Loan.begin(front, Dialect.Tuning.NONE), dialect, new Incarnation("this one"));
    }

    private void throwNext(Deque<SQLException> plan) throws SQLException {
        SQLException next = plan.poll();
        if (next != null && next != none) {
            throw next;
        }
    }

    private void pause(long nanos) {
        if (nanos > 0) {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(nanos, () -> over.complete(null));
            try {
                runtime.await(over);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private void goOn(long millis) {
        runtime.runFor(Duration.ofMillis(millis));
    }

    private String work(LeaseTable table, int tries) throws SQLException {
        runAtNanos.add(runtime.nanoTime());
        pause(workTakesNanos);
        throwNext(works);
        return "done by try " + tries;
    }

    private static String failed(FailureKind kind, LockStoreException error) {
        return kind + " " + error.getClass().getSimpleName();
    }

    private Task<String> writing() {
        return Task.writing("a task", this::work, WorkerTest::failed);
    }

    private Task<String> reading() {
        return Task.reading("a look", this::work, WorkerTest::failed);
    }

    private Task<String> quick(Task.QuickWork<String> quickly) {
        return Task.acquiring(OwnerToken.draw(runtime), "an acquire", quickly, this::work, WorkerTest::failed);
    }

    /** The result within a second. */
    private String outcome(Task<String> task) {
        CompletableFuture<String> answer = queue.submit(task, LIMIT);
        goOn(1_000);
        return answer.getNow("open");
    }

    private void plan(Deque<SQLException> of, SQLException... errors) {
        of.clear();
        of.addAll(List.of(errors));
        opened.clear();
        runAtNanos.clear();
    }

    @Test
    void aConnectionThatIsBrokenBeforeTheCommitCostsNothingTheFirstTime() throws SQLException {
        start();
        plan(works, broken);
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(opened).as("connections").hasSize(1);
        plan(works, broken, broken);
        assertThat(outcome(writing())).isEqualTo("NO_EFFECT StoreUnavailableException");
        plan(works, broken);
        assertThat(outcome(reading())).isEqualTo("done by try 1");
        plan(works);
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(opened).as("the last is kept").isEmpty();
    }

    @Test
    void aCommitThatFailsMayHaveHappenedUnlessThereWasNoSpaceForIt() throws SQLException {
        start();
        for (SQLException error : new SQLException[] {broken, other, damaged, access}) {
            plan(commits, error);
            assertThat(outcome(writing())).as(error.getMessage()).startsWith("UNKNOWN ");
        }
        plan(commits, full);
        assertThat(outcome(writing())).startsWith("NO_EFFECT ");
        plan(commits, contention);
        assertThat(outcome(writing())).as("that was rolled back").isEqualTo("done by try 2");
    }

    @Test
    void whatAnErrorMeansIsSaidAndTheConnectionIsKeptWhereItIsFit() throws SQLException {
        start();
        Object[][] meanings = {
            {other, "NO_EFFECT StoreUnavailableException", 0},
            {full, "NO_EFFECT StoreUnavailableException", 0},
            {access, "PERMANENT StoreAccessException", 0},
            {damaged, "PERMANENT StoreUnavailableException", 1},
        };
        for (Object[] meaning : meanings) {
            for (boolean writes : new boolean[] {true, false}) {
                plan(works, (SQLException) meaning[0]);
                assertThat(outcome(writes ? writing() : reading())).isEqualTo(meaning[1]);
                assertThat(outcome(writing())).isEqualTo("done by try 1");
                assertThat(opened).as("%s: new connections", meaning[0]).hasSize((int) meaning[2]);
            }
        }
        assertThat(told).as("the database was never away").isEmpty();
    }

    @Test
    void aServerThatCanOnlyBeReadIsAskedForAnewOnceWhereItWasConnectedToBefore() throws SQLException {
        start();
        outcome(writing());
        plan(works, readOnly);
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(opened).hasSize(1);
        plan(works, readOnly, readOnly);
        assertThat(outcome(writing())).as("the new one as well").isEqualTo("NO_EFFECT StoreUnavailableException");
        plan(works, readOnly);
        assertThat(outcome(writing())).as("one that was opened for it").startsWith("NO_EFFECT ");
        assertThat(opened).hasSize(1);
    }

    @Test
    void aConnectionThatCannotBeHadIsNoFaultOfTheTask() throws SQLException {
        start();
        for (SQLException error : new SQLException[] {broken, other}) {
            plan(works, broken);
            opening.add(error);
            assertThat(outcome(writing())).startsWith("NO_EFFECT ");
            assertThat(told).isEmpty();
            assertThat(outcome(writing())).isEqualTo("done by try 1");
            assertThat(told).as("it was away").containsExactly("reachable");
            told.clear();
        }
    }

    /** The failure in between is a reply of the database, but not a success. */
    @Test
    void thatItWasAwayIsToldThoughAnotherFailureComesFirst() throws SQLException {
        start();
        plan(works, broken, broken);
        assertThat(outcome(writing())).startsWith("NO_EFFECT ");
        for (SQLException error : new SQLException[] {other, full, readOnly}) {
            plan(works, error, error);
            assertThat(outcome(writing())).doesNotStartWith("done");
        }
        assertThat(told).isEmpty();
        plan(works);
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(told).as("it was away").containsExactly("reachable");
    }

    @Test
    void aLogInThatIsRefusedLastsUnlessAnotherMayBeAccepted() throws SQLException {
        start();
        plan(works, broken);
        opening.add(access);
        assertThat(outcome(writing())).isEqualTo("PERMANENT StoreAccessException");
        loginMayChange = true;
        opening.add(access);
        assertThat(outcome(writing())).isEqualTo("NO_EFFECT StoreAccessException");
        plan(works, access);
        assertThat(outcome(writing())).as("of the table").isEqualTo("PERMANENT StoreAccessException");
        loginMayChange = false;
        plan(works, broken);
        opening.add(new StoreAccessException("not for you", null));
        assertThat(outcome(writing())).isEqualTo("PERMANENT StoreAccessException");
        opening.add(new StoreUnavailableException("not now", null));
        assertThat(outcome(writing())).isEqualTo("NO_EFFECT StoreUnavailableException");
    }

    @Test
    void aStoreThatKeepsMovingIsGivenUp() throws SQLException {
        start();
        leads = false;
        opened.clear();
        assertThat(outcome(writing())).isEqualTo("NO_EFFECT StoreUnavailableException");
        assertThat(opened).hasSize(5);
        assertThat(runAtNanos).isEmpty();
        leads = true;
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        leads = false;
        assertThat(outcome(reading())).as("who only reads does not ask").isEqualTo("done by try 1");
    }

    private void standsAside(int times) {
        SQLException[] errors = new SQLException[times];
        java.util.Arrays.fill(errors, contention);
        plan(works, errors);
    }

    private List<Long> pausesInMicros() {
        List<Long> pauses = new ArrayList<>();
        for (int i = 1; i < runAtNanos.size(); i++) {
            pauses.add((runAtNanos.get(i) - runAtNanos.get(i - 1)) / 1000);
        }
        return pauses;
    }

    @Test
    void aTaskForWhichAnotherTransactionIsInTheWayComesBackAtOnceAndThenEverLater() throws SQLException {
        start();
        standsAside(10);
        assertThat(outcome(writing())).isEqualTo("done by try 11");
        assertThat(pausesInMicros())
                .containsExactly(0L, 1_000L, 2_000L, 4_000L, 8_000L, 16_000L, 32_000L, 50_000L, 50_000L, 50_000L);
    }

    @Test
    void itLeavesTheOthersAsMuchTimeAsItTook() throws SQLException {
        start();
        standsAside(4);
        workTakesNanos = 20_000_000L;
        assertThat(outcome(writing())).isEqualTo("done by try 5");
        assertThat(pausesInMicros()).containsExactly(20_000L, 40_000L, 40_000L, 40_000L);
    }

    @Test
    void whereTheWholeDatabaseIsLockedItComesBackAtOnce() throws SQLException {
        Dialect h2 = H2Dialect.dialect();
        Dialect whole = new Dialect(
                h2.database(),
                h2.driver(),
                h2.clock(),
                new Dialect.ByStatements("SET AUTOCOMMIT OFF", "COMMIT", "ROLLBACK"),
                h2.leases(),
                h2.store(),
                h2.clients(),
                h2.waking(),
                null,
                h2.tuning(),
                h2.connecting(),
                h2.troubles(),
                h2.scope());
        start(whole, KeptConnection.Patience.ENDLESS);
        standsAside(5);
        assertThat(outcome(writing())).isEqualTo("done by try 6");
        assertThat(pausesInMicros()).containsOnly(0L);
    }

    @Test
    void housekeepingWaitsForNobody() throws SQLException {
        start();
        plan(works, contention);
        assertThat(outcome(Task.keepingHouse("a chore", this::work, WorkerTest::failed)))
                .isEqualTo("NO_EFFECT StoreUnavailableException");
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(opened).as("the connection is kept").isEmpty();
    }

    @Test
    void aTaskThatAsksForAnotherTransactionHasItsFirstCommitted() throws SQLException {
        start();
        List<Integer> tried = new ArrayList<>();
        Task<String> renewal = Task.renewing(
                "a renewal",
                (table, tries) -> {
                    tried.add(tries);
                    return tries < 3 ? null : "renewed";
                },
                WorkerTest::failed);
        plan(commits, none, none, other);
        assertThat(outcome(renewal)).startsWith("UNKNOWN ");
        assertThat(tried).containsExactly(1, 2, 3);
        assertThat(commits).isEmpty();
    }

    @Test
    void oneStatementThatIsEnoughNeedsNoTransaction() throws SQLException {
        start();
        plan(works);
        assertThat(outcome(quick((table, wait) -> "at once"))).isEqualTo("at once");
        assertThat(runAtNanos).isEmpty();
        assertThat(outcome(quick((table, wait) -> null))).isEqualTo("done by try 1");
    }

    /** It may wait for a table that another transaction has locked, which no limit of the statement prevents. */
    @Test
    void oneStatementThatFoundTheDatabaseSilentIsNotTriedBeforeATransactionHasWritten() throws SQLException {
        start();
        List<Long> quickly = new ArrayList<>();
        long[] silentForNanos = {200_000_000L};
        Task.QuickWork<String> silent = (table, wait) -> {
            quickly.add(runtime.nanoTime());
            pause(silentForNanos[0]);
            if (quickly.size() == 1) {
                throw broken;
            }
            return "at once";
        };
        plan(works);
        assertThat(outcome(quick(silent))).as("a connection that ended").isEqualTo("at once");
        quickly.clear();
        silentForNanos[0] = 600_000_000L;
        assertThat(outcome(quick(silent))).as("silence").isEqualTo("done by try 1");
        assertThat(outcome(quick(silent))).as("the next").isEqualTo("done by try 1");
        assertThat(quickly).hasSize(1);
        Task<String> writes = Task.writing(
                "a task",
                (table, tries) -> {
                    table.fenceWritten(7);
                    return "written";
                },
                WorkerTest::failed);
        assertThat(outcome(writes)).isEqualTo("written");
        silentForNanos[0] = 0;
        assertThat(outcome(quick(silent))).isEqualTo("at once");

        quickly.clear();
        silentForNanos[0] = 600_000_000L;
        assertThat(outcome(quick(silent))).as("silence once more").isEqualTo("done by try 1");
        runtime.runFor(Duration.ofSeconds(58));
        assertThat(outcome(quick(silent))).as("within the minute").isEqualTo("done by try 1");
        runtime.runFor(Duration.ofSeconds(2));
        silentForNanos[0] = 0;
        assertThat(outcome(quick(silent))).as("a client that writes nothing").isEqualTo("at once");
    }

    @Test
    void theAnswerOfOneStatementThatWasLostMayHaveBeenAGrantWhateverComesAfter() throws SQLException {
        start();
        Deque<SQLException> quickly = new ArrayDeque<>();
        Task.QuickWork<String> failing = (table, wait) -> {
            throwNext(quickly);
            return "at once";
        };
        quickly.add(broken);
        assertThat(outcome(quick(failing))).as("repeated").isEqualTo("at once");
        quickly.addAll(List.of(broken, broken));
        assertThat(outcome(quick(failing))).startsWith("UNKNOWN ");
        quickly.addAll(List.of(broken, other));
        assertThat(outcome(quick(failing))).as("the first may have").startsWith("UNKNOWN ");
        quickly.add(other);
        assertThat(outcome(quick(failing))).as("an answer is one").startsWith("NO_EFFECT ");
        quickly.add(contention);
        assertThat(outcome(quick(failing))).as("then in a transaction").isEqualTo("done by try 2");
    }

    @Test
    void whatIsWithdrawnBetweenItsStatementAndItsTransactionIsNotBegun() throws SQLException {
        start();
        OwnerToken owner = OwnerToken.draw(runtime);
        Task<String> task = Task.acquiring(
                owner,
                "an acquire",
                (table, wait) -> {
                    queue.takeBackAcquire(owner);
                    return null;
                },
                this::work,
                WorkerTest::failed);
        assertThat(outcome(task)).startsWith("NO_EFFECT ");
        assertThat(runAtNanos).isEmpty();
        plan(works);
        assertThat(outcome(writing())).isEqualTo("done by try 1");
        assertThat(opened).as("the connection is kept").isEmpty();
    }

    @Test
    void whoAsksWhatDelaysThemIsToldOfASilentDatabaseAndOfAFullPool() throws SQLException {
        Worker made = start();
        Task<String> task = writing();
        Task<String> next = writing();
        assertThat(made.delayedBy(task)).isNull();
        workTakesNanos = 2_000_000_000L;
        CompletableFuture<String> slow = queue.submit(task, LIMIT);
        goOn(1_200);
        assertThat(made.delayedBy(task)).isEqualTo("the database has not answered for 1200 ms");
        assertThat(made.delayedBy(next))
                .as("the one before it may wait for a row")
                .isNull();
        goOn(1);
        assertThat(made.delayedBy(next)).isEqualTo("the database has not answered for 1201 ms");
        goOn(1_000);
        assertThat(slow).isCompleted();
        assertThat(made.delayedBy(task)).isNull();
        workTakesNanos = 0;
        works.add(broken);
        openingTakesNanos = 500_000_000L;
        CompletableFuture<String> late = queue.submit(next, LIMIT);
        goOn(300);
        assertThat(made.delayedBy(next)).startsWith("no connection to the database came within 300 ms");
        goOn(300);
        assertThat(late).isCompletedWithValue("done by try 1");
        assertThat(made.delayedBy(next)).isNull();
    }

    private Task<String> saying() {
        return Task.writing("a task", this::work, (kind, error) -> kind + " " + error.getMessage());
    }

    /** A frozen server, or one behind a cut network. */
    @Test
    void aSilentDatabaseIsNotReportedAsBusyOrSlow() throws SQLException {
        queue.explainDelaysBy(start()::delayedBy);
        long second = Duration.ofSeconds(1).toNanos();
        checkTakesNanos = 2 * second;
        CompletableFuture<String> begun = queue.submit(saying(), second);
        CompletableFuture<String> behind = queue.submit(saying(), second);
        goOn(1_001);
        String late = "a task at here was not answered within 1000 ms";
        assertThat(begun)
                .isCompletedWithValue(
                        "NO_EFFECT " + late + " and was taken back: the database has not answered for 1000 ms");
        assertThat(behind)
                .isCompletedWithValue("NO_EFFECT " + late
                        + " and was taken back: the requests of this client before it took that long");
        goOn(2_000);
        checkTakesNanos = 0;
        workTakesNanos = 2 * second;
        CompletableFuture<String> working = queue.submit(saying(), second);
        goOn(1_001);
        assertThat(working).isCompletedWithValue("UNKNOWN " + late + ": the database has not answered for 1000 ms");
        goOn(2_000);
    }

    @Test
    void aDatabaseThatWasBusyWithOthersIsReportedAsBusy() throws SQLException {
        queue.explainDelaysBy(start()::delayedBy);
        standsAside(1_000);
        workTakesNanos = 10_000_000L;
        CompletableFuture<String> hindered =
                queue.submit(saying(), Duration.ofSeconds(1).toNanos());
        goOn(1_001);
        assertThat(hindered.join()).endsWith(": the database was busy with other transactions");
        plan(works);
        goOn(1_000);
        CompletableFuture<String> renewal = queue.submit(
                Task.renewing("a task", (table, tries) -> null, (kind, error) -> kind + " " + error.getMessage()),
                Duration.ofSeconds(1).toNanos());
        goOn(1_001);
        assertThat(renewal.join())
                .as("rows of its batch are locked")
                .endsWith(": the database was busy with other transactions");
    }

    @Test
    void whereWaitsAreBriefALongerOneIsSilenceAlsoAfterOthersWereInTheWay() throws SQLException {
        Worker made = start(withBriefWaits(), PATIENCE);
        standsAside(1);
        workTakesNanos = 1_000_000_000L;
        Task<String> hindered = writing();
        queue.submit(hindered, LIMIT);
        goOn(1_500);
        assertThat(hindered.hindrance()).isEqualTo("the database was busy with other transactions");
        assertThat(made.delayedBy(hindered)).as("it may wait for a row").isNull();
        goOn(1);
        assertThat(made.delayedBy(hindered)).isEqualTo("the database has not answered for 501 ms");
        goOn(1_000);
        queue.submit(Task.renewing("a renewal", this::work, WorkerTest::failed), 800_000_000L);
        goOn(400);
        assertThat(made.delayedBy(hindered)).as("half of the shortest limit").isNull();
        goOn(1);
        assertThat(made.delayedBy(hindered)).isEqualTo("the database has not answered for 401 ms");
        goOn(1_000);
    }

    @Test
    void aListThatTakesLongIsNotSilenceWhereWaitsAreBrief() throws SQLException {
        Worker made = start(withBriefWaits(), PATIENCE);
        workTakesNanos = 1_000_000_000L;
        Task<String> list = reading();
        Task<String> behind = writing();
        queue.submit(list, LIMIT);
        goOn(950);
        assertThat(made.delayedBy(list)).isNull();
        assertThat(made.delayedBy(behind)).isNull();
        goOn(1_000);
    }

    /** A batch of many renewals has a statement for each. */
    @Test
    void aLongTransactionWhoseStatementsAreAnsweredIsNotSilence() throws SQLException {
        Worker made = start();
        Task<String> many = Task.writing(
                "a task",
                (table, tries) -> {
                    for (int i = 0; i < 20; i++) {
                        table.with("SELECT 1").executeQuery().close();
                        pause(200_000_000L);
                    }
                    return "done";
                },
                WorkerTest::failed);
        Task<String> behind = writing();
        queue.submit(many, LIMIT);
        goOn(3_100);
        assertThat(made.delayedBy(many)).isNull();
        assertThat(made.delayedBy(behind)).isNull();
        goOn(1_000);
        assertThat(many.future()).isCompletedWithValue("done");
    }

    @Test
    void aStatementThatTheDatabaseCancelsIsReportedAsThat() throws SQLException {
        Dialect h2 = H2Dialect.dialect();
        start(
                new Dialect(
                        h2.database(),
                        h2.driver(),
                        h2.clock(),
                        h2.transaction(),
                        h2.leases(),
                        h2.store(),
                        h2.clients(),
                        h2.waking(),
                        null,
                        h2.tuning(),
                        h2.connecting(),
                        e -> SqlTrouble.INTERRUPTED,
                        h2.scope()),
                PATIENCE);
        standsAside(1);
        Task<String> cancelled = writing();
        assertThat(outcome(cancelled)).isEqualTo("done by try 2");
        assertThat(cancelled.hindrance()).isEqualTo("the database cancelled its last statement");
    }

    @Test
    void aFileIsNeverSilent() throws SQLException {
        Worker made = start(H2Dialect.dialect(), KeptConnection.Patience.ENDLESS);
        workTakesNanos = 2_000_000_000L;
        Task<String> task = writing();
        queue.submit(task);
        goOn(1_500);
        assertThat(made.delayedBy(task)).isNull();
        goOn(1_000);
    }

    /** A dialect whose transactions can wait for less than a second. */
    private Dialect withBriefWaits() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE limits (id INT AUTO_INCREMENT, waits VARCHAR)");
        }
        Dialect h2 = H2Dialect.dialect();
        return new Dialect(
                h2.database(),
                h2.driver(),
                h2.clock(),
                new Dialect.ByDriver("SELECT id FROM FINAL TABLE (INSERT INTO limits (id, waits) VALUES (DEFAULT, ?))"),
                h2.leases(),
                h2.store(),
                h2.clients(),
                h2.waking(),
                null,
                h2.tuning(),
                h2.connecting(),
                h2.troubles(),
                h2.scope());
    }

    @Test
    void aTransactionWaitsForARowForAQuarterOfTheShortestLimitAtMost() throws SQLException {
        Dialect brief = withBriefWaits();
        try (Connection connection = DriverManager.getConnection(url);
                var statement = connection.createStatement()) {
            start(brief, PATIENCE);
            standsAside(1);
            works.addFirst(none);
            outcome(writing());
            outcome(writing());
            queue.submit(Task.renewing("a renewal", this::work, WorkerTest::failed), 800_000_000L);
            goOn(100);
            outcome(writing());
            try (var rows = statement.executeQuery("SELECT waits FROM limits ORDER BY id")) {
                List<String> waits = new ArrayList<>();
                while (rows.next()) {
                    waits.add(rows.getString(1));
                }
                // The task that stood aside does not wait any more, and the rolled-back transaction does not count; a
                // renewal does not wait at first.
                assertThat(waits).containsExactly("250ms", "1ms", "1ms", "200ms");
            }
        }
    }

    @Test
    void theEndClosesTheConnectionAndIsTold() throws SQLException {
        Worker made = start();
        outcome(writing());
        assertThat(made.ended()).isNotDone();
        queue.close();
        goOn(1);
        assertThat(made.ended()).isDone();
        assertThat(opened.get(0).isClosed()).isTrue();
    }

    /** The file was moved while the store was closed: no task is begun again. */
    @Test
    void theCloseEndsWhatKeepsMoving() throws SQLException {
        start();
        leads = false;
        openingTakesNanos = 100_000_000L;
        CompletableFuture<String> answer = queue.submit(writing(), LIMIT);
        goOn(150);
        queue.close();
        goOn(200);
        assertThat(answer).isDone();
        assertThat(answer.join()).startsWith("NO_EFFECT ");
        assertThat(opened).hasSizeLessThan(4);
    }
}
