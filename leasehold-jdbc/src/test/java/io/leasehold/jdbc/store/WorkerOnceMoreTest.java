package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
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

/**
 * Failures next to a task, events during a statement, and the worker's memory of them. In virtual time, over a real
 * database.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
class WorkerOnceMoreTest {

    private static final long LIMIT = Duration.ofMillis(100).toNanos();

    private final SQLException broken = new SQLException("broken", "08006", 90067);
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private int errorsOfTheWait;
    private boolean refusesTimers;
    private final LockRuntime failing = (LockRuntime) Proxy.newProxyInstance(
            getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                if (method.getName().startsWith("await") && errorsOfTheWait > 0) {
                    errorsOfTheWait--;
                    throw new InternalError("made by the test");
                } else if (method.getName().equals("schedule") && refusesTimers) {
                    throw new OutOfMemoryError("made by the test");
                }
                return invoked(runtime, method, arguments);
            });
    private final WorkQueue queue = new WorkQueue(failing, "here");
    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private int opened;
    private boolean statementsCannotBeClosed;
    private boolean breaksAtTheCommit;
    private int begun;

    private static Object invoked(Object on, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private void start() throws SQLException {
        Dialect dialect = H2Dialect.dialect();
        KeptConnection connections = KeptConnection.own(
                new KeptConnection.Opener() {
                    @Override
                    public LeaseTable open() throws SQLException {
                        opened++;
                        Loan loan = Loan.begin(connection(), Dialect.Tuning.NONE);
                        return new LeaseTable(loan, dialect, new Incarnation("this one"));
                    }

                    @Override
                    public boolean leadsToStore() {
                        return true;
                    }

                    @Override
                    public boolean loginMayChange() {
                        return true;
                    }
                },
                new KeptConnection.Patience(10_000_000L, 2_500_000_000L));
        runtime.startThread("worker", new Worker(failing, queue, connections, dialect, "here", () -> {}));
    }

    private Connection connection() throws SQLException {
        Connection real = DriverManager.getConnection(url);
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit") && breaksAtTheCommit) {
                        breaksAtTheCommit = false;
                        throw broken;
                    }
                    Object made = invoked(real, method, arguments);
                    return made instanceof PreparedStatement statement ? watched(statement) : made;
                });
    }

    private PreparedStatement watched(PreparedStatement real) {
        return (PreparedStatement) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {PreparedStatement.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("close") && statementsCannotBeClosed) {
                        statementsCannotBeClosed = false;
                        throw new SQLException("made by the test");
                    }
                    return invoked(real, method, arguments);
                });
    }

    @AfterEach
    void close() {
        queue.close();
        runtime.runFor(Duration.ofMillis(10));
    }

    private static String failed(FailureKind kind, LockStoreException error) {
        return kind + " " + error.getMessage();
    }

    private String outcome(Task<String> task) {
        CompletableFuture<String> answer = queue.submit(task, LIMIT);
        runtime.runFor(Duration.ofSeconds(1));
        return answer.getNow("open");
    }

    private static Task<String> reading() {
        return Task.reading("a look", (table, tries) -> "done", WorkerOnceMoreTest::failed);
    }

    /** The current statement may grant it: nothing is begun after it for a caller that has gone. */
    @Test
    void aStatementDuringWhichTheTimeIsUpIsFollowedByNoTransaction() throws SQLException {
        start();
        List<String> transactions = new ArrayList<>();
        Task<String> acquire = Task.acquiring(
                OwnerToken.draw(runtime),
                "an acquire",
                (table, wait) -> {
                    pause();
                    return null;
                },
                (table, tries) -> {
                    transactions.add("begun");
                    return "granted";
                },
                WorkerOnceMoreTest::failed);
        assertThat(outcome(acquire)).startsWith("UNKNOWN an acquire at here was not answered within 100 ms");
        assertThat(transactions).isEmpty();
        assertThat(outcome(reading())).isEqualTo("done");
        assertThat(opened).as("the connection is kept").isEqualTo(1);
    }

    /** One statement that is not enough, and then a transaction whose first try may fail with this. */
    private Task<String> inTwoSteps(@Nullable SQLException first) {
        return Task.acquiring(
                OwnerToken.draw(runtime),
                "an acquire",
                (table, wait) -> null,
                (table, tries) -> {
                    if (++begun == 1 && first != null) {
                        throw first;
                    }
                    return "granted";
                },
                WorkerOnceMoreTest::failed);
    }

    @Test
    void aTransactionBehindAStatementIsRepeatedOverAnotherConnectionAsAnyOther() throws SQLException {
        start();
        assertThat(outcome(inTwoSteps(broken))).isEqualTo("granted");
        assertThat(begun).isEqualTo(2);
        assertThat(opened).isEqualTo(2);
    }

    /** The statement may be repeated; the transaction committed after it may not. */
    @Test
    void aTransactionBehindAStatementIsNotRepeatedWhenItsCommitMayHaveHappened() throws SQLException {
        start();
        breaksAtTheCommit = true;
        assertThat(outcome(inTwoSteps(null))).startsWith("UNKNOWN an acquire at here: the database cannot be reached");
        assertThat(begun).isEqualTo(1);
    }

    @Test
    void aRightThatIsMissingAtTheTableLastsWhateverLogInComesNext() throws SQLException {
        start();
        SQLException access = new SQLException("no right", "HY000", 90096);
        assertThat(outcome(inTwoSteps(access))).startsWith("PERMANENT an acquire at here: the database may not be");
    }

    /** A read-only server has answered: no reply is lost, and the statement had no effect. */
    @Test
    void aStatementThatWasRefusedTwiceHasHadNoEffect() throws SQLException {
        start();
        Task<String> acquire = Task.acquiring(
                OwnerToken.draw(runtime),
                "an acquire",
                (table, wait) -> {
                    begun++;
                    throw new SQLException("read only", "HY000", 90097);
                },
                (table, tries) -> "granted",
                WorkerOnceMoreTest::failed);
        assertThat(outcome(acquire)).startsWith("NO_EFFECT an acquire at here: this server of the database can only");
        assertThat(begun).isEqualTo(2);
    }

    private void pause() {
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(2 * LIMIT, () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void anErrorWhileItWaitsForATaskDoesNotEndTheThread() throws SQLException {
        errorsOfTheWait = 2;
        start();
        runtime.runFor(Duration.ofMillis(1));
        assertThat(errorsOfTheWait).isZero();
        assertThat(outcome(reading())).isEqualTo("done");
    }

    @Test
    void aConnectionWhoseStatementsCannotBeClosedIsNotUsedAgain() throws SQLException {
        start();
        statementsCannotBeClosed = true;
        Task<String> refused = Task.reading(
                "a look",
                (table, tries) -> {
                    table.number("SELECT 1");
                    throw new SQLException("something", "HY000", 1);
                },
                WorkerOnceMoreTest::failed);
        assertThat(outcome(refused)).startsWith("NO_EFFECT a look at here: the database reports an error");
        assertThat(outcome(reading())).isEqualTo("done");
        assertThat(opened).isEqualTo(2);
    }

    private Task<String> acquire() {
        return Task.acquiring(
                OwnerToken.draw(runtime), "an acquire", null, (table, tries) -> "done", WorkerOnceMoreTest::failed);
    }

    private static void assertForgotten(WeakReference<?> reference) {
        for (int i = 0; i < 50 && reference.get() != null; i++) {
            System.gc();
        }
        assertThat(reference.get()).isNull();
    }

    @Test
    void nothingIsRememberedOfAnAcquireWhoseTimeWasUpWhereverItWaited() {
        assertForgotten(answeredInLine());
        assertForgotten(answeredAside());
    }

    private WeakReference<Task<String>> answeredInLine() {
        Task<String> task = acquire();
        assertThat(outcome(task)).startsWith("NO_EFFECT");
        return new WeakReference<>(task);
    }

    private WeakReference<Task<String>> answeredAside() {
        Task<String> task = acquire();
        queue.submit(task, LIMIT);
        assertThat(queue.take()).isSameAs(task);
        assertThat(task.start() && task.giveWay()).isTrue();
        queue.putAside(task, 50 * LIMIT);
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(task.future().join()).startsWith("NO_EFFECT");
        return new WeakReference<>(task);
    }

    @Test
    void nothingIsRememberedOfWhatStoodAsideWithoutATimer() {
        assertForgotten(withoutATimer());
    }

    private WeakReference<Task<String>> withoutATimer() {
        Task<String> task = acquire();
        queue.submit(task);
        assertThat(queue.take()).isSameAs(task);
        assertThat(task.start() && task.giveWay()).isTrue();
        refusesTimers = true;
        assertThatThrownBy(() -> queue.putAside(task, LIMIT)).isInstanceOf(OutOfMemoryError.class);
        refusesTimers = false;
        queue.finished(task);
        return new WeakReference<>(task);
    }

    @Test
    void theCloseAnswersTheChoresToo() {
        Task<String> chore = Task.keepingHouse("a chore", (table, tries) -> "done", WorkerOnceMoreTest::failed);
        queue.submit(chore);
        queue.close();
        assertThat(chore.future()).isCompletedWithValue("NO_EFFECT a chore at here: the store was closed");
    }
}
