package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a poll of a real file finds, and what follows a failed one. */
@Tag("quick")
class WakeWatchTest {

    private static final long MINUTE = Duration.ofMinutes(1).toNanos();
    private static final LockName NAME = LockName.exactly("x");
    private static final OwnerToken HOLDER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");
    private static final OwnerToken WAITER = OwnerToken.fromHex("f".repeat(40));

    @TempDir
    private Path directory;

    private final Dialect dialect = SqliteDialect.dialect(false);
    private final LockRuntime runtime = new SystemLockRuntime();
    private final MachineClock clock = new MachineClock(runtime, null);
    private final AtomicInteger submitted = new AtomicInteger();
    private final List<LockName> woken = new ArrayList<>();
    private WakeWatch watch;

    @BeforeEach
    void begin() throws SQLException {
        watch = new WakeWatch(runtime, clock, Lives.UNKNOWN, submitted::incrementAndGet, woken::add);
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            long nowNanos = clock.read().nanos();
            LeaseRow.Held held = new LeaseRow.Held(HOLDER, "holder", nowNanos + MINUTE, MINUTE, 5, null);
            // With its waiter noted: otherwise the lock would be worth a request, in order to be noted.
            LeaseRow.Waiter noted = new LeaseRow.Waiter(WAITER, nowNanos);
            table.insert(new LeaseRow(NAME, clock.origin(), held, noted, 0, 5));
        }
    }

    @AfterEach
    void end() {
        runtime.close();
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("t.db"));
    }

    private LeaseTable table(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("PRAGMA journal_mode=WAL");
        }
        Incarnation incarnation = new SchemaCheck(dialect, runtime, "wall", "store X").prepare(connection);
        return new LeaseTable(Loan.begin(connection, dialect.tuning()), dialect, incarnation);
    }

    private void releaseElsewhere() throws SQLException {
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            table.update(
                    new LeaseRow(NAME, clock.origin(), null, null, clock.read().nanos(), 5));
        }
    }

    @Test
    void aChangeThatFellBetweenTwoConnectionsIsSeen() throws SQLException {
        watch.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        try (Connection first = connect()) {
            LeaseTable table = table(first);
            watch.look(table);
            watch.look(table);
            assertThat(woken).isEmpty();
        }
        releaseElsewhere();
        try (Connection second = connect()) {
            watch.look(table(second));
            assertThat(woken).containsExactly(NAME);
        }
    }

    @Test
    void aChangeThatALookFailedToReadIsReadByTheNext() throws SQLException {
        watch.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            watch.look(table);
            releaseElsewhere();
            try (Statement statement = connection.createStatement()) {
                statement.execute("ALTER TABLE leasehold_lock RENAME TO hidden");
                int before = submitted.get();
                try {
                    watch.look(table);
                    throw new AssertionError("the table was found");
                } catch (SQLException e) {
                    watch.lookFailed();
                }
                awaitLookAfter(before);
                statement.execute("ALTER TABLE hidden RENAME TO leasehold_lock");
            }
            table.forgetStatements();
            watch.look(table);
            assertThat(woken).containsExactly(NAME);
        }
    }

    @Test
    void looksGoOnHoweverOftenTheyFailAndEndWithTheStore() {
        watch.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        awaitLookAfter(0);
        for (int i = 0; i < 6; i++) {
            int before = submitted.get();
            watch.lookFailed();
            awaitLookAfter(before);
        }
        watch.close();
        int before = submitted.get();
        watch.lookFailed();
        assertThat(submitted.get()).isEqualTo(before);
    }

    /** A waiter that was woken may have retried in vain, or its wake-up may have come during its retry. */
    @Test
    void aWaiterThatWasWokenAndNeitherAsksNorGoesIsWokenAgain() throws SQLException {
        watch.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            releaseElsewhere();
            watch.look(table);
            assertThat(woken).containsExactly(NAME);
            long startAtNanos = System.nanoTime();
            while (woken.size() < 2) {
                assertThat(System.nanoTime() - startAtNanos).isLessThan(MINUTE / 3);
                watch.look(table);
            }
        }
    }

    @Test
    void aWaiterWhoseTimeIsOverIsForgottenAndNothingRunsForIt() throws Exception {
        watch.add(WAITER, List.of(NAME), 1, MINUTE);
        awaitLookAfter(0);
        try (Connection connection = connect()) {
            watch.look(table(connection));
            Thread.sleep(100);
            assertThat(submitted).hasValue(1);
        }
    }

    @Test
    void moreWaitersThanOneLookReadsAreReadByTheNext() throws SQLException {
        for (int i = 0; i < 300; i++) {
            watch.add(OwnerToken.draw(runtime), List.of(LockName.exactly("free-" + i)), MINUTE, MINUTE);
        }
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            watch.look(table);
            assertThat(woken).hasSizeLessThan(300);
            watch.look(table);
            assertThat(new HashSet<>(woken)).hasSize(300);
        }
    }

    @Test
    void nothingIsKeptOfAWaiterThatHasGone() {
        WeakReference<OwnerToken> gone = addAndForget();
        long startAtNanos = System.nanoTime();
        while (gone.get() != null) {
            assertThat(System.nanoTime() - startAtNanos).isLessThan(MINUTE / 2);
            System.gc();
        }
    }

    private WeakReference<OwnerToken> addAndForget() {
        OwnerToken owner = OwnerToken.draw(runtime);
        watch.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        watch.add(owner, List.of(NAME), MINUTE, MINUTE);
        watch.forget(owner);
        return new WeakReference<>(owner);
    }

    /** In virtual time. */
    @Test
    void looksComeRarelyWhileTheyFailAndSoonAfterwards() throws SQLException {
        VirtualRuntime virtual = VirtualRuntime.seeded(1);
        MachineClock virtualClock = new MachineClock(virtual, null);
        WakeWatch slow = new WakeWatch(virtual, virtualClock, Lives.UNKNOWN, submitted::incrementAndGet, woken::add);
        slow.add(WAITER, List.of(NAME), 100 * MINUTE, 100 * MINUTE);
        virtual.runFor(Duration.ofMillis(2));
        assertThat(submitted).hasValue(1);
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            int looks = 1;
            for (int round = 0; round < 2; round++) {
                for (long millis : new long[] {20, 40, 80, 160, 320, 640, 640}) {
                    slow.lookFailed();
                    virtual.runFor(Duration.ofMillis(millis - 1));
                    assertThat(submitted).hasValue(looks);
                    virtual.runFor(Duration.ofMillis(2));
                    assertThat(submitted).hasValue(++looks);
                }
                slow.look(table);
                virtual.runFor(Duration.ofMillis(25));
                assertThat(submitted).hasValue(++looks);
            }
        }
    }

    private void awaitLookAfter(int before) {
        long startAtNanos = System.nanoTime();
        while (submitted.get() <= before) {
            assertThat(System.nanoTime() - startAtNanos).isLessThan(MINUTE);
            Thread.onSpinWait();
        }
    }

    /** At each of its steps outside this class: a clock, a wake-up, the timer of the next poll. */
    @Test
    void aLookThatThrowsAnywhereIsFollowedByExactlyOne() throws SQLException {
        int throwsAt = 0;
        while (isFollowedByOneLookIfItThrowsAt(throwsAt)) {
            throwsAt++;
        }
        assertThat(throwsAt).as("steps of a look").isGreaterThan(3);
    }

    /** Returns whether the poll reached that step. */
    private boolean isFollowedByOneLookIfItThrowsAt(int step) throws SQLException {
        Steps steps = new Steps();
        WakeWatch watched = steps.watch();
        woken.clear();
        try (Connection connection = connect()) {
            LeaseTable table = table(connection);
            connection.createStatement().executeUpdate("DELETE FROM leasehold_lock");
            watched.add(WAITER, List.of(NAME), MINUTE, MINUTE);
            assertThat(steps.looks()).isEqualTo(1);
            steps.runAll();
            steps.throwAt(step);
            boolean thrown = false;
            try {
                watched.look(table);
            } catch (InternalError e) {
                thrown = true;
                watched.lookFailed();
            }
            steps.throwAt(Integer.MAX_VALUE);
            watched.add(OwnerToken.fromHex("e".repeat(40)), List.of(NAME), MINUTE, MINUTE);
            assertThat(steps.looks()).as("looks to come after step " + step).isEqualTo(1);
            steps.runAll();
            watched.look(table);
            assertThat(woken).as("after step " + step).contains(NAME);
            assertThat(steps.looks()).isEqualTo(1);
            return thrown;
        }
    }

    @Test
    void whereNoTimerCouldBeArmedForTheNextLookTheNextWaiterBringsIt() {
        Steps steps = new Steps();
        WakeWatch watched = steps.watch();
        watched.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        steps.runAll();
        steps.throwAt(0);
        assertThatThrownBy(watched::lookFailed).isInstanceOf(InternalError.class);
        assertThat(steps.looks()).isZero();

        watched.add(OwnerToken.fromHex("e".repeat(40)), List.of(NAME), MINUTE, MINUTE);

        assertThat(steps.looks()).isEqualTo(1);
    }

    @Test
    void aLookThatCannotBeSubmittedIsFollowedByAnother() {
        Steps steps = new Steps();
        WakeWatch watched = steps.watch();
        watched.add(WAITER, List.of(NAME), MINUTE, MINUTE);
        steps.refuseNext = true;
        assertThatThrownBy(steps::runAll).isInstanceOf(InternalError.class);
        assertThat(steps.looks()).isEqualTo(1);
        int before = submitted.get();
        steps.runAll();
        assertThat(submitted.get()).isEqualTo(before + 1);
    }

    /** A runtime whose timers fire when the test says so, and one of whose steps fails. */
    private final class Steps {
        private final List<Runnable> timers = new ArrayList<>();
        private int stepsLeft = Integer.MAX_VALUE;
        private boolean refuseNext;

        WakeWatch watch() {
            LockRuntime counted = (LockRuntime) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                        step();
                        if (method.getName().equals("schedule")) {
                            Runnable task = (Runnable) arguments[1];
                            timers.add(task);
                            return (LockRuntime.Timer) () -> timers.remove(task);
                        }
                        return method.invoke(runtime, arguments);
                    });
            return new WakeWatch(counted, new MachineClock(counted, null), Lives.UNKNOWN, this::submit, this::wake);
        }

        private void step() {
            if (stepsLeft-- == 0) {
                throw new InternalError("made by the test");
            }
        }

        private void submit() {
            if (refuseNext) {
                refuseNext = false;
                throw new InternalError("made by the test");
            }
            submitted.incrementAndGet();
        }

        private void wake(LockName name) {
            step();
            woken.add(name);
        }

        void throwAt(int step) {
            stepsLeft = step;
        }

        int looks() {
            return timers.size();
        }

        void runAll() {
            List<Runnable> due = List.copyOf(timers);
            timers.clear();
            due.forEach(Runnable::run);
        }
    }
}
