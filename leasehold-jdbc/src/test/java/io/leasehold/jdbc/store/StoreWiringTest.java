package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ORIGIN;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The parts of a store work together: polls, notifications, deaths, waiting, the close. In virtual time, over a real
 * database.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
@Timeout(60)
class StoreWiringTest {

    private static final KeptConnection.Patience PATIENCE = new KeptConnection.Patience(10_000_000L, 2_500_000_000L);
    private static final Guarantees GUARANTEES = new Guarantees(
            Guarantee.Exclusion.WITHIN_DRIFT,
            Guarantee.Fencing.INCREASING,
            Guarantee.Queueing.POLLING,
            Guarantee.Scope.MACHINE);

    @TempDir
    private Path directory;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final List<String> heard = new ArrayList<>();
    private final Ended lives = new Ended();
    private String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private long openingTakesNanos;
    private @Nullable LeaseTableStore store;

    /** No process is known to be dead. */
    private final class Ended implements Lives {
        @Override
        public String own() {
            return "own";
        }

        @Override
        public Optional<Path> coverChildren() {
            return Optional.of(Path.of("life"));
        }

        @Override
        public State stateOf(String life) {
            return State.UNKNOWN;
        }

        @Override
        public void sweep(Set<String> named) {
            heard.add("swept but " + named);
        }

        @Override
        public void close() {
            heard.add("life over");
        }
    }

    private final class Ear implements StoreSignals {
        @Override
        public void wake(LockName name) {
            heard.add("wake " + name);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            heard.add("lost");
        }

        @Override
        public void reconnected() {
            heard.add("reconnected");
        }
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(url);
    }

    /** A connection for listening that reports its end. */
    private Connection spare() throws SQLException {
        Connection real = connect();
        return (Connection) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("abort")) {
                        heard.add("aborted");
                    }
                    return method.invoke(real, arguments);
                });
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private LeaseTableStore start(Dialect dialect, Lives of) throws SQLException {
        return start(dialect, of, opener -> KeptConnection.own(opener, PATIENCE));
    }

    /** The way to keep the connections that are opened. */
    private interface Keeping {
        KeptConnection of(KeptConnection.Opener opener) throws SQLException;
    }

    private LeaseTableStore start(Dialect dialect, Lives of, Keeping keeping) throws SQLException {
        StoreClock clock = dialect.clock() instanceof Dialect.DatabaseTime time
                ? new DatabaseClock(runtime, time)
                : new MachineClock(runtime, new BootOrigin(ORIGIN, 0));
        SchemaCheck schema = new SchemaCheck(dialect, runtime, clock.kind(), "store X");
        KeptConnection connections = keeping.of(new KeptConnection.Opener() {
            @Override
            public LeaseTable open() throws SQLException {
                pause(openingTakesNanos);
                Connection connection = connect();
                return new LeaseTable(
                        Loan.begin(connection, Dialect.Tuning.NONE), dialect, schema.findOrMake(connection));
            }

            @Override
            public boolean leadsToStore() {
                return true;
            }
        });
        LeaseTableStore made = LeaseTableStore.start(
                new StoreSettings(
                        "store X",
                        dialect,
                        GUARANTEES,
                        clock,
                        schema,
                        connections,
                        this::spare,
                        of,
                        VerbsBench.RETENTION),
                runtime);
        made.listen(new Ear());
        store = made;
        return made;
    }

    private LeaseTableStore startFile() throws SQLException {
        url = "jdbc:sqlite:" + directory.resolve("t.db");
        try (Connection connection = connect()) {
            new SchemaCheck(SqliteDialect.dialect(true), runtime, "boot", "store X").prepare(connection);
        }
        return start(SqliteDialect.dialect(true), lives);
    }

    private void pause(long nanos) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        runtime.schedule(nanos, () -> over.complete(null));
        try {
            runtime.await(over);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void goOn(long millis) {
        runtime.runFor(Duration.ofMillis(millis));
    }

    @AfterEach
    void close() {
        openingTakesNanos = 0;
        if (store != null) {
            store.close();
        }
        goOn(120_000);
        assertThat(runtime.world().pendingEvents()).as("nothing runs for it").isZero();
    }

    private static AcquireRequest request(OwnerToken owner, long limitMillis, String... names) {
        return AcquireRequest.exclusive(
                VerbsBench.request(owner, names).names(), owner, "holder", VerbsBench.TTL, limitMillis * 1_000_000L);
    }

    private AcquireReply acquire(AcquireRequest request) {
        CompletableFuture<AcquireReply> reply = Objects.requireNonNull(store).acquire(request);
        goOn(5);
        return reply.join();
    }

    private void release(String name) throws SQLException {
        execute("UPDATE leasehold_lock SET owner = NULL, waiter = NULL WHERE name = '" + name + "'");
    }

    @Test
    void whoWaitsAtAFileIsWokenByALookAlsoAfterOneThatFailed() throws SQLException {
        LeaseTableStore file = startFile();
        assertThat(file.description()).isEqualTo("store X");
        assertThat(file.guarantees()).isEqualTo(GUARANTEES);
        assertThat(file.operations().coverChildren()).contains(Path.of("life"));
        assertThat(acquire(request(VerbsBench.ANN, 1_000, "x"))).isInstanceOf(AcquireReply.Granted.class);
        AcquireReply busy = acquire(request(VerbsBench.BOB, 1_000, "x")
                .waiting(Duration.ofMinutes(1).toNanos()));
        assertThat(busy).isInstanceOf(AcquireReply.Queued.class);
        goOn(1_000);
        assertThat(heard).doesNotContain("wake x");
        execute("ALTER TABLE leasehold_lock RENAME TO hidden");
        goOn(1_000);
        execute("ALTER TABLE hidden RENAME TO leasehold_lock");
        release("x");
        goOn(1_000);
        assertThat(heard).contains("wake x");
    }

    /** SQLite orders by code points, and Java by UTF-16 code units. */
    @Test
    void whatIsHeldIsListedInTheOrderOfNamesWhateverTheDatabaseTakesForOne() throws SQLException {
        LeaseTableStore file = startFile();
        List<String> names = List.of("a", "\uD83D\uDD12", "\uFF61");
        for (String name : names) {
            assertThat(acquire(request(OwnerToken.draw(runtime), 1_000, name)))
                    .isInstanceOf(AcquireReply.Granted.class);
        }
        CompletableFuture<List<HeldLock>> listed = file.admin().list("*", 10);
        goOn(10);
        assertThat(listed.join()).extracting(record -> record.name().text()).containsExactlyElementsOf(names);
    }

    @Test
    void aBorrowedConnectionIsKeptForAsLongAsARenewedPermitLasts() throws SQLException {
        List<KeptConnection> kept = new ArrayList<>();
        LeaseTableStore lent = start(H2Dialect.dialect(), Lives.UNKNOWN, opener -> {
            kept.add(KeptConnection.borrowed(opener, PATIENCE, runtime));
            return kept.get(0);
        });
        LockName pool = name("pool").asPermits(1);
        long shortNanos = Duration.ofSeconds(1).toNanos();
        assertThat(acquire(AcquireRequest.exclusive(
                        List.of(pool),
                        VerbsBench.ANN,
                        "holder",
                        shortNanos,
                        Duration.ofSeconds(1).toNanos())))
                .isInstanceOf(AcquireReply.Granted.class);
        RenewBatch.Item item = new RenewBatch.Item(pool, VerbsBench.ANN, VerbsBench.TTL);
        CompletableFuture<RenewReply> renewed = lent.renew(new RenewBatch(List.of(item), shortNanos));
        goOn(45_000);
        assertThat(renewed.join().items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(kept.get(0).isOpen()).as("its holder renews it again").isTrue();
    }

    @Test
    void theLivesOfTheDeadAreSweptAtTheStartAndTheOwnOneEndsWithTheClose() throws SQLException {
        url = "jdbc:sqlite:" + directory.resolve("t.db");
        Dialect dialect = SqliteDialect.dialect(true);
        try (Connection connection = connect()) {
            new SchemaCheck(dialect, runtime, "boot", "store X").prepare(connection);
            LeaseTable table =
                    new LeaseTable(Loan.begin(connection, Dialect.Tuning.NONE), dialect, new Incarnation("x"));
            LeaseRow.Held held = new LeaseRow.Held(VerbsBench.ANN, "holder", Long.MAX_VALUE / 2, 1, 7, "a life");
            table.insert(new LeaseRow(name("x"), ORIGIN, held, null, 0, 7));
        }
        LeaseTableStore file = start(dialect, lives);
        goOn(10);
        assertThat(heard).containsExactly("swept but [a life]");
        file.close();
        assertThat(heard).containsExactly("swept but [a life]", "life over");
    }

    @Test
    void whereNoDeathIsSeenNothingIsSwept() throws SQLException {
        execute("CREATE TABLE other (n INT)");
        start(H2Dialect.dialect(), Lives.UNKNOWN);
        goOn(10);
        assertThat(heard).isEmpty();
    }

    @Test
    void whoIsNotAnsweredIsToldThatNoConnectionCame() throws SQLException {
        start(H2Dialect.dialect(), Lives.UNKNOWN);
        execute("SHUTDOWN");
        openingTakesNanos = Duration.ofSeconds(5).toNanos();
        CompletableFuture<AcquireReply> reply =
                Objects.requireNonNull(store).acquire(request(VerbsBench.ANN, 300, "x"));
        goOn(400);
        assertThat(reply)
                .isCompletedWithValueMatching(answer -> answer instanceof AcquireReply.Failed failed
                        && String.valueOf(failed.error().getMessage())
                                .contains("no connection to the database came within"));
    }

    @Test
    void whereItCanBeDoneOneStatementAcquiresOneLockAndATransactionSeveral() throws SQLException {
        execute("CREATE TABLE at_once (name VARCHAR)");
        String atOnce = "SELECT '" + VerbsBench.CAT.hex()
                + "', 'someone', 60000000000, 60000000000, 7, 7, name, 1, FALSE FROM at_once WHERE ? <> '' AND name = ?"
                + " AND ? <> '' AND ? <> '' AND ? > 0 AND ? > 0 AND ? >= 0";
        execute("INSERT INTO at_once VALUES ('x')");
        start(VerbsBench.h2(atOnce, Dialect.Polling.INSTANCE), Lives.UNKNOWN);
        assertThat(acquire(request(VerbsBench.ANN, 1_000, "x")))
                .as("as the statement says, though the lock is free")
                .isInstanceOf(AcquireReply.Busy.class);
        assertThat(acquire(request(VerbsBench.ANN, 1_000, "x", "y"))).isInstanceOf(AcquireReply.Granted.class);
    }

    /** Delivers the notifications sent, until its connection is ended. */
    private final class Told implements Dialect.Driver {

        @Override
        public boolean canListen(Connection connection) {
            return true;
        }

        @Override
        public void listen(Connection connection) {
            heard.add("listens");
        }

        @Override
        public List<String> next(Connection connection, int millis) throws SQLException {
            pause(millis * 1_000_000L);
            if (heard.contains("aborted")) {
                throw new SQLException("aborted", "08006");
            }
            List<String> words = new ArrayList<>();
            try (Statement statement = connection.createStatement();
                    var rows = statement.executeQuery(
                            "SELECT word FROM FINAL TABLE (UPDATE words SET heard = TRUE WHERE NOT heard)")) {
                while (rows.next()) {
                    words.add(rows.getString(1));
                }
            }
            return words;
        }

        @Override
        public void ask(Connection connection) {}

        @Override
        public void unlisten(Connection connection) {}
    }

    @Test
    void whereNotificationsComeWaitersAreToldByThemUntilTheClose() throws SQLException {
        execute("CREATE TABLE words (word VARCHAR, heard BOOLEAN DEFAULT FALSE)");
        LeaseTableStore told = start(
                VerbsBench.h2(null, new Dialect.ByNotifications("INSERT INTO words (word) VALUES (?)", new Told())),
                Lives.UNKNOWN);
        assertThat(acquire(request(VerbsBench.ANN, 1_000, "x"))).isInstanceOf(AcquireReply.Granted.class);
        AcquireRequest waiting = request(VerbsBench.BOB, 1_000, "x")
                .waiting(Duration.ofMinutes(1).toNanos());
        assertThat(acquire(waiting)).isInstanceOf(AcquireReply.Busy.class);
        goOn(2_000);
        assertThat(heard).contains("listens");
        assertThat(acquire(waiting)).as("its own word has come").isInstanceOf(AcquireReply.Queued.class);
        heard.clear();
        execute("INSERT INTO words (word) VALUES ('x')");
        goOn(1_000);
        assertThat(heard).containsExactly("wake x");
        told.close();
        assertThat(heard).contains("aborted");
    }
}
