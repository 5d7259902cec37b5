package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Row locks, the fencing guard and the version check, the same on every database: implemented by a test class for each. */
@Timeout(120)
interface RowProtectionTests {

    Connection connect() throws SQLException;

    default Connection transaction() throws SQLException {
        Connection connection = connect();
        connection.setAutoCommit(false);
        return connection;
    }

    @BeforeEach
    default void makeTables() throws SQLException {
        run("DROP TABLE IF EXISTS orders");
        run("DROP TABLE IF EXISTS order_event");
        run("CREATE TABLE orders (id BIGINT PRIMARY KEY, state VARCHAR(20) NOT NULL, amount BIGINT NOT NULL,"
                + " version BIGINT NOT NULL, fencing_token BIGINT)");
        run("CREATE TABLE order_event (order_id BIGINT NOT NULL, what VARCHAR(40) NOT NULL)");
        for (int id = 1; id <= 3; id++) {
            run("INSERT INTO orders (id, state, amount, version) VALUES (" + id + ", 'NEW', 0, 1)");
        }
    }

    private void run(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
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

    private static int update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    // --- row locks

    @Test
    default void aLockedRowIsBusyForOthersUntilTheCommit() throws SQLException {
        try (Connection mine = transaction();
                Connection theirs = transaction()) {
            assertThat(RowLocks.in(mine).lock("orders", "id", 1L)).isEqualTo(RowLock.LOCKED);

            RowLocks others = RowLocks.in(theirs);
            update(theirs, "INSERT INTO order_event VALUES (2, 'before')");
            assertThat(others.tryLock("orders", "id", 1L)).isEqualTo(RowLock.BUSY);
            assertThat(others.tryLock("orders", "id", 1L, Duration.ofMillis(50)))
                    .isEqualTo(RowLock.BUSY);
            assertThat(others.tryLock("orders", "id", 1L, Duration.ZERO)).isEqualTo(RowLock.BUSY);
            assertThat(others.tryLock("orders", "id", 2L)).isEqualTo(RowLock.LOCKED);
            assertThat(others.tryLock("orders", "id", 99L)).isEqualTo(RowLock.MISSING);
            mine.commit();

            assertThat(others.tryLock("orders", "id", 1L, Duration.ofSeconds(5)))
                    .isEqualTo(RowLock.LOCKED);
            theirs.commit();
            assertThat(number(theirs, "SELECT COUNT(*) FROM order_event"))
                    .as("the transaction went on")
                    .isEqualTo(1);
        }
    }

    /** Some locales have digits of their own, which no database accepts. */
    @Test
    default void aBoundedWaitIsAskedForInEveryLocale() throws SQLException {
        Locale before = Locale.getDefault();
        try (Connection connection = transaction()) {
            Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
            assertThat(RowLocks.in(connection).tryLock("orders", "id", 1L, Duration.ofMillis(1_050)))
                    .isEqualTo(RowLock.LOCKED);
            connection.rollback();
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    default void aWaitEndsWhenTheHolderRollsBack() throws Exception {
        try (Connection mine = transaction();
                Connection theirs = transaction()) {
            RowLocks.in(mine).lock("orders", "id", 1L);
            CompletableFuture<RowLock> waiting = CompletableFuture.supplyAsync(() -> {
                try {
                    return RowLocks.in(theirs).tryLock("orders", "id", 1L, Duration.ofSeconds(60));
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            mine.rollback();

            assertThat(waiting.get()).isEqualTo(RowLock.LOCKED);
            theirs.rollback();
        }
    }

    @Test
    default void workersTakeDifferentFreeRows() throws SQLException {
        try (Connection one = transaction();
                Connection two = transaction()) {
            assertThat(RowLocks.in(one).lockFree("orders", "id", "state = ?", 2, "NEW"))
                    .containsExactly(1L, 2L);
            assertThat(RowLocks.in(two).lockFree("orders", "id", "state = ?", 2, "NEW"))
                    .containsExactly(3L);
            assertThat(RowLocks.in(two).lockFree("orders", "id", "state = ?", 2, "PAID"))
                    .isEmpty();
            one.rollback();
            two.rollback();
        }
    }

    @Test
    default void aDeadlockGivesUpOneOfTheTransactions() throws Exception {
        AtomicInteger aborted = new AtomicInteger();
        AtomicInteger locked = new AtomicInteger();
        CountDownLatch bothHoldOne = new CountDownLatch(2);
        List<CompletableFuture<Void>> runs = new ArrayList<>();
        for (long first : new long[] {1, 2}) {
            runs.add(CompletableFuture.runAsync(() -> {
                try (Connection connection = transaction()) {
                    RowLocks rows = RowLocks.in(connection);
                    assertThat(rows.lock("orders", "id", first)).isEqualTo(RowLock.LOCKED);
                    bothHoldOne.countDown();
                    bothHoldOne.await();
                    RowLock second = rows.tryLock("orders", "id", 3 - first, Duration.ofSeconds(30));
                    (second == RowLock.LOCKED ? locked : aborted).incrementAndGet();
                    if (second != RowLock.LOCKED) {
                        assertThatThrownBy(second::orElseThrow)
                                .isInstanceOf(RowLockException.class)
                                .hasMessageContaining("repeat");
                    }
                    connection.rollback();
                } catch (SQLException | InterruptedException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        for (CompletableFuture<Void> run : runs) {
            run.get();
        }
        assertThat(aborted.get()).isEqualTo(1);
        assertThat(locked.get()).isEqualTo(1);
    }

    @Test
    default void refusesWhatCannotProtect() throws SQLException {
        try (Connection connection = connect()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> RowLocks.in(connection))
                    .withMessageContaining("setAutoCommit(false)");
            assertThatIllegalStateException()
                    .isThrownBy(() ->
                            SqlFencingGuard.of("orders", "id", "fencing_token").admit(connection, 1L, 1));
            assertThatIllegalStateException()
                    .isThrownBy(() -> VersionCheck.of("orders", "id", "version").advance(connection, 1L, 1));
            connection.setAutoCommit(false);
            RowLocks rows = RowLocks.in(connection);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> rows.lock("orders; DROP TABLE orders", "id", 1L))
                    .withMessageContaining("DROP TABLE");
            assertThatIllegalArgumentException().isThrownBy(() -> rows.tryLock("orders", "i'd", 1L));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> rows.tryLock("orders", "id", 1L, Duration.ofMillis(-1)));
            assertThatIllegalArgumentException().isThrownBy(() -> rows.lockFree("orders", "id", "true", 0));
            connection.rollback();
        }
    }

    /**
     * The usual example of an order that is paid once: status under the row's lock, then the update and an event, in
     * one transaction.
     */
    @Test
    default void anOrderIsPaidOnceHoweverManyTry() throws Exception {
        List<CompletableFuture<String>> tries = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            tries.add(CompletableFuture.supplyAsync(() -> {
                try {
                    return pay(1L);
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        List<String> outcomes = new ArrayList<>();
        for (CompletableFuture<String> one : tries) {
            outcomes.add(one.get());
        }
        assertThat(outcomes)
                .containsOnlyOnce("paid")
                .allMatch(outcome -> List.of("paid", "busy", "not new").contains(outcome));
        try (Connection connection = connect()) {
            assertThat(number(connection, "SELECT COUNT(*) FROM order_event WHERE order_id = 1"))
                    .isEqualTo(1);
        }
    }

    private String pay(long id) throws SQLException {
        try (Connection connection = transaction()) {
            if (RowLocks.in(connection).tryLock("orders", "id", id) != RowLock.LOCKED) {
                connection.rollback();
                return "busy";
            }
            if (number(connection, "SELECT COUNT(*) FROM orders WHERE id = " + id + " AND state = 'NEW'") == 0) {
                connection.rollback();
                return "not new";
            }
            update(connection, "UPDATE orders SET state = 'PAID' WHERE id = " + id);
            update(connection, "INSERT INTO order_event VALUES (" + id + ", 'paid')");
            connection.commit();
            return "paid";
        }
    }

    // --- fencing

    @Test
    default void aRowAdmitsTheSameHolderManyTimesAndOlderOnesNever() throws SQLException {
        List<Admission> seen = new ArrayList<>();
        SqlFencingGuard guard =
                SqlFencingGuard.of("orders", "id", "fencing_token").reportingTo(seen::add);
        try (Connection connection = transaction()) {
            assertThat(guard.admit(connection, 1L, 7).isAdmitted())
                    .as("null means never fenced")
                    .isTrue();
            assertThat(guard.admit(connection, 1L, 7).isAdmitted()).isTrue();
            assertThat(guard.admit(connection, 1L, 9).isAdmitted()).isTrue();
            assertThat(guard.admit(connection, 1L, 8)).isEqualTo(new Admission.Rejected("orders 1", 8, 9));
            assertThat(guard.admit(connection, 2L, 8).isAdmitted())
                    .as("another row")
                    .isTrue();
            assertThat(guard.admit(connection, 77L, 8)).isEqualTo(new Admission.Missing("orders 77", 8));
            connection.commit();
        }
        assertThat(seen).hasSize(6);
    }

    /** Some databases show a transaction the state at its first read; a rejection is reported all the same. */
    @Test
    default void aRejectionIsToldToWhoHasReadBefore() throws SQLException {
        SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
        try (Connection one = transaction();
                Connection two = transaction()) {
            assertThat(number(one, "SELECT amount FROM orders WHERE id = 1")).isZero();
            guard.admit(two, 1L, 9).orElseThrow();
            two.commit();
            assertThat(guard.admit(one, 1L, 8)).isEqualTo(new Admission.Rejected("orders 1", 8, 9));
            one.rollback();
        }
    }

    @Test
    default void aRegistrationThatWasRolledBackIsForgotten() throws SQLException {
        SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
        try (Connection connection = transaction()) {
            guard.admit(connection, 1L, 9).orElseThrow();
            connection.rollback();
            assertThat(guard.admit(connection, 1L, 8).isAdmitted()).isTrue();
            connection.rollback();
        }
    }

    /**
     * Holders whose leases end at any moment read, and write later, in two transactions: no admitted update is lost.
     */
    @Test
    default void pausedHoldersAreRejectedAndNoUpdateIsLost() throws Exception {
        SqlFencingGuard guard = SqlFencingGuard.of("orders", "id", "fencing_token");
        AtomicLong tokens = new AtomicLong();
        AtomicLong acknowledged = new AtomicLong();
        AtomicLong rejected = new AtomicLong();
        List<CompletableFuture<Void>> runs = new ArrayList<>();
        for (int holder = 0; holder < 3; holder++) {
            runs.add(CompletableFuture.runAsync(() -> {
                try (Connection connection = transaction()) {
                    for (int i = 0; i < 60; i++) {
                        long token = tokens.incrementAndGet();
                        try {
                            guard.admit(connection, 1L, token).orElseThrow();
                            long amount = number(connection, "SELECT amount FROM orders WHERE id = 1");
                            connection.commit();
                            LockSupport.parkNanos(100_000);
                            guard.admit(connection, 1L, token).orElseThrow();
                            update(connection, "UPDATE orders SET amount = " + (amount + 1) + " WHERE id = 1");
                            connection.commit();
                            acknowledged.incrementAndGet();
                        } catch (StaleTokenException stopped) {
                            connection.rollback();
                            rejected.incrementAndGet();
                        }
                    }
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        for (CompletableFuture<Void> run : runs) {
            run.get();
        }
        assertThat(acknowledged.get() + rejected.get()).isEqualTo(180);
        assertThat(rejected.get())
                .as("some were too late, or nothing was tried")
                .isPositive();
        try (Connection connection = connect()) {
            assertThat(number(connection, "SELECT amount FROM orders WHERE id = 1"))
                    .isEqualTo(acknowledged.get());
        }
    }

    // --- versions

    @Test
    default void aVersionAdvancesOnceForAllWhoReadIt() throws SQLException {
        VersionCheck versions = VersionCheck.of("orders", "id", "version");
        try (Connection one = transaction();
                Connection two = transaction()) {
            long seenByOne = versions.read(one, 1L).orElseThrow();
            long seenByTwo = versions.read(two, 1L).orElseThrow();
            one.rollback();
            two.rollback();
            versions.advance(one, 1L, seenByOne);
            one.commit();

            assertThatThrownBy(() -> versions.advance(two, 1L, seenByTwo))
                    .isInstanceOf(StaleVersionException.class)
                    .hasMessageContainingAll("orders 1", "version " + seenByTwo, "read the row again");
            two.rollback();
            assertThat(versions.read(two, 1L)).hasValue(seenByOne + 1);
            assertThat(versions.read(two, 99L)).isEmpty();
            two.rollback();
        }
    }
}
