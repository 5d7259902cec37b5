package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The reaction of a store to a database whose first statements fail, in virtual time over a real one. */
@Tag("quick")
@Timeout(60)
class OpeningTest {

    private static final int MAX_TRIES = 20;
    private static final int MAX_DEAD = 100;

    /** Stands for success in a plan. */
    private final SQLException none = new SQLException("none");

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID();
    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final Deque<SQLException> failures = new ArrayDeque<>();
    private int asked;
    private int opened;
    private int closed;
    private int aborted;
    private Duration silentFor = Duration.ZERO;
    private Connection kept;

    @BeforeEach
    void keep() throws SQLException {
        kept = DriverManager.getConnection(url);
    }

    @AfterEach
    void drop() throws SQLException {
        kept.close();
    }

    /** A connection whose statements fail as planned, and then succeed. */
    private Connection connect() throws SQLException {
        Connection real = DriverManager.getConnection(url);
        opened++;
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "close" -> closed++;
                        case "abort" -> aborted++;
                        case "createStatement" -> {
                            asked++;
                            pause();
                            throwIfAny(failures.poll());
                        }
                        default -> {}
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private void pause() {
        if (!silentFor.isZero()) {
            CompletableFuture<Void> over = new CompletableFuture<>();
            runtime.schedule(silentFor.toNanos(), () -> over.complete(null));
            runtime.awaitUninterruptibly(over);
        }
    }

    private void throwIfAny(@Nullable SQLException failure) throws SQLException {
        if (failure != null && failure != none) {
            throw failure;
        }
    }

    private LockStore open() {
        return JdbcStores.over(new SimpleDataSource(this::connect), SqlDialect.H2, runtime);
    }

    private void fails(int times, SQLException failure) {
        for (int i = 0; i < times; i++) {
            failures.add(failure);
        }
    }

    private void assertRefused(SQLException failure, Class<? extends Exception> type, String... words) {
        failures.clear();
        fails(MAX_TRIES + 1, failure);
        assertThatThrownBy(this::open)
                .isInstanceOf(type)
                .hasMessageContainingAll(words)
                .hasCause(failure);
        assertThat(closed).as("what was opened is closed").isEqualTo(opened);
    }

    /** Two clients that create the tables at the same time disturb each other, even repeatedly. */
    @Test
    void theTablesAreLookedForAgainWhileOthersMakeThemTwentyTimes() throws SQLException {
        SQLException locked = new SQLException("locked by another", "HYT00", 50200);
        assertRefused(locked, StoreUnavailableException.class, "cannot be opened", "locked by another", "50200");
        assertThat(asked).isEqualTo(MAX_TRIES);
        failures.clear();
        fails(MAX_TRIES - 1, locked);
        try (LockStore store = open()) {
            assertThat(store.description()).isEqualTo(url);
        }
        assertThat(opened).isEqualTo(2);
    }

    @Test
    void whatDoesNotPassIsToldAtOnceAndSaysWhatToDo() {
        assertRefused(
                new SQLException("not yours\nmore", "42000", 90096),
                StoreAccessException.class,
                "refuses this user (not yours, SQL state 42000, code 90096)",
                "leasehold_lock");
        assertThat(asked).isEqualTo(1);
        assertRefused(
                new SQLException("no writes", "HY000", 90097),
                StoreAccessException.class,
                "can only be read (no writes, SQL state HY000, code 90097)",
                "name the primary");
        assertThat(asked).isEqualTo(2);
        SQLException mute = new SQLException(null, "HY000", 1);
        assertRefused(mute, StoreUnavailableException.class, "cannot be opened (null, SQL state HY000, code 1)");
        assertThat(asked).isEqualTo(3);
        assertRefused(
                new SQLException("", "HY000", 1),
                StoreUnavailableException.class,
                "cannot be opened (no message, SQL state HY000, code 1)");
    }

    /** The system cannot start a thread for the store, or a later thread to end a connection. */
    @Test
    void aStoreThatCannotBeStartedLeavesNothingOpen(@TempDir Path directory) throws Exception {
        for (String refused : new String[] {"startThread leasehold-jdbc", "schedule"}) {
            assertThatThrownBy(() ->
                            JdbcStores.over(new SimpleDataSource(this::connect), SqlDialect.H2, refusing(refused)))
                    .as(refused)
                    .isInstanceOf(OutOfMemoryError.class);
            assertThat(closed).as(refused).isEqualTo(opened);
        }
        assertThat(opened).isEqualTo(2);
        assertThatThrownBy(
                        () -> SqliteStore.open(directory.resolve("locks.db"), refusing("startThread leasehold-jdbc")))
                .isInstanceOf(OutOfMemoryError.class);
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).as("neither a life nor a log").containsExactly(directory.resolve("locks.db"));
        }
    }

    /** The runtime of the test, which has no memory for these calls. */
    private LockRuntime refusing(String call) {
        return (LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    String made =
                            method.getName().equals("startThread") ? "startThread " + arguments[0] : method.getName();
                    if (made.equals(call)) {
                        throw new OutOfMemoryError("made by the test");
                    }
                    try {
                        return method.invoke(runtime, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    @Test
    void tablesThatAreThereAreUsedAsTheyAre() throws Exception {
        try (LockStore store = open()) {
            assertThat(store.description()).isEqualTo(url);
        }
        execute("UPDATE leasehold_store SET store_id = 'the first'");
        try (LockStore store = open()) {
            assertThat(store.operations().keepsClientRecords()).isTrue();
        }
        try (Statement statement = kept.createStatement();
                var row = statement.executeQuery("SELECT store_id FROM leasehold_store")) {
            assertThat(row.next()).isTrue();
            assertThat(row.getString(1)).isEqualTo("the first");
        }
        execute("DELETE FROM leasehold_store");
        try (LockStore store = open()) {
            assertThat(store.description())
                    .as("one whose row was deleted is described anew")
                    .isEqualTo(url);
        }
        execute("ALTER TABLE leasehold_lock ALTER COLUMN name VARCHAR_IGNORECASE(500)");
        assertThatThrownBy(this::open)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("takes different names for one");
        execute("ALTER TABLE leasehold_lock ALTER COLUMN name VARCHAR(500)");
        execute("UPDATE leasehold_store SET schema_version = 7");
        assertThatThrownBy(this::open)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("has lease tables of version 7");
        execute("UPDATE leasehold_store SET schema_version = 1, clock = 'wall'");
        assertThatThrownBy(this::open)
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContaining("keeps time by the wall clock");
        assertThat(closed).isEqualTo(opened);
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = kept.createStatement()) {
            statement.execute(sql);
        }
    }

    /**
     * The table serves only operators: a client works without it, and does not mistake an unreachable database for one
     * without the table.
     */
    @Test
    void theTableOfClientsMayBeMissingWhereItMayNotBeMade() throws SQLException {
        open().close();
        for (int trouble : new int[] {90096, 1}) {
            failures.clear();
            SQLException no = new SQLException("no", "HY000", trouble);
            failures.add(none);
            failures.add(none);
            failures.add(no);
            try (LockStore store = open()) {
                assertThat(store.operations().keepsClientRecords()).isFalse();
            }
        }
        for (int trouble : new int[] {90098, 90067}) {
            failures.clear();
            SQLException away = new SQLException("away", "HY000", trouble);
            for (int i = 0; i < MAX_DEAD; i++) {
                failures.add(none);
                failures.add(none);
                failures.add(away);
            }
            assertThatThrownBy(this::open)
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasCause(away);
        }
    }

    /** After a restart of the database, a pool that does not check what it lends has only dead ones, one after another. */
    @Test
    void deadConnectionsOfAPoolAreDiscardedUntilALiveOneComes() {
        fails(30, new SQLException("the connection is broken", "08006", 90067));
        try (LockStore store = open()) {
            assertThat(store.description()).isEqualTo(url);
        }
        assertThat(asked).isGreaterThan(30);
        assertThat(aborted).as("closing them would return them to the pool").isEqualTo(30);
        assertThat(closed).isEqualTo(opened).isEqualTo(31);
    }

    /** As behind a proxy that accepts connections while its database is away: each of them is a log-in. */
    @Test
    void whereEachNewConnectionIsDeadTheyAreTakenEverMoreSlowly() {
        fails(1_000, new SQLException("the connection is broken", "08006", 90067));
        assertThatThrownBy(this::open).isInstanceOf(StoreUnavailableException.class);
        assertThat(opened).as("in ten seconds").isBetween(30, 60);
    }

    @Test
    void aSilentConnectionIsNotFollowedByAnother() {
        fails(2, new SQLException("no answer", "08006", 90067));
        silentFor = Duration.ofSeconds(10);
        assertThatThrownBy(this::open).isInstanceOf(StoreUnavailableException.class);
        assertThat(opened).isEqualTo(1);
    }

    /** For example a wrapper that fetches credentials. */
    @Test
    void aDataSourceThatThrowsWhateverItLikesIsUnavailable() {
        IllegalStateException noCredentials = new IllegalStateException("no credentials");
        SimpleDataSource source = new SimpleDataSource(() -> {
            throw noCredentials;
        });
        assertThatThrownBy(() -> JdbcStores.over(source, SqlDialect.H2, runtime))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("H2 data source", "gave no connection", "no credentials")
                .hasCause(noCredentials);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JdbcStores.over(new SimpleDataSource(this::connect), SqlDialect.POSTGRESQL, runtime))
                .withMessageContaining("is a database of H2");
    }

    @Test
    void aFileLeadsToAStoreUnlessItsPathWouldBeTakenForOptions(@TempDir Path directory) {
        try (LockStore store = SqliteStore.at(directory.resolve("locks.db")).apply(runtime)) {
            assertThat(store.description()).isEqualTo("sqlite:" + directory.resolve("locks.db"));
        }
        Path relative = Path.of("?.db");
        for (Path path : new Path[] {directory.resolve("a?b.db"), relative}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> SqliteStore.open(path, runtime))
                    .withMessageContaining("has a '?' in its path");
        }
    }
}
