package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LockStoreException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rows of every table that another transaction keeps locked, for longer than any ttl. */
@Timeout(240)
interface LockedRowsTests {

    /** A connection of an administrator. */
    Connection administrator() throws SQLException;

    /** The URI of the database. */
    String storeUri();

    /** The dialects to be tested with it. */
    List<SqlDialect> dialects();

    /** The statements that lock the gaps between rows. */
    default List<String> gaps() {
        return List.of();
    }

    private LockStore open(SqlDialect dialect, LockRuntime runtime) {
        return JdbcStores.connect(storeUri(), "locked rows", dialect.statements(), null, runtime, Duration.ZERO);
    }

    /** For example by {@code SELECT … FOR UPDATE} in a console that stays open. */
    private static boolean lock(Connection connection, String query) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement();
                var rows = statement.executeQuery(query + " FOR UPDATE")) {
            return rows.next();
        }
    }

    /** Locks an unused row. Housekeeping may have deleted the first one: it runs once for many new rows. */
    private static void lockUnused(LeaseClient client, String name, Connection keeper) throws SQLException {
        keeper.setAutoCommit(false);
        do {
            // Also releases the lock on the gap in which the row would be.
            keeper.rollback();
            cycle(client, name);
        } while (!lock(keeper, "SELECT fence FROM leasehold_lock WHERE name = '" + name + "'"));
    }

    private static void cycle(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        client.release(name, owner);
    }

    /** Each row in turn; the client continues with all others, however many rows it creates and deletes. */
    @Test
    default void anUnusedRowThatIsKeptLockedCostsNobodyAnything() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient client = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                lockUnused(client, "unused " + dialect, keeper);
                long beganAtNanos = System.nanoTime();
                for (int i = 0; i < 150; i++) {
                    cycle(client, "used " + i);
                }
                assertThat(System.nanoTime() - beganAtNanos).isLessThan(TimeUnit.SECONDS.toNanos(60));
                keeper.rollback();
            }
        }
    }

    /** Another transaction that has the header of permits for a moment makes them neither busy nor lost. */
    @Test
    default void permitsAreNotBusyBecauseTheirHeaderIsLocked() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient client = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                LockName pool = LockName.exactly("pool " + dialect).asPermits(2);
                OwnerToken holder = client.owner();
                assertThat(client.acquire(request(pool, holder))).isInstanceOf(AcquireReply.Granted.class);
                assertThat(lock(
                                keeper,
                                "SELECT name FROM leasehold_lock WHERE name = 'permits\u001fpool " + dialect + "'"))
                        .as("the header is locked")
                        .isTrue();
                CompletableFuture<AcquireReply> asked = client.store.acquire(request(pool, client.owner()));
                RenewBatch.Item item = new RenewBatch.Item(pool, holder, LeaseClient.TTL.toNanos());
                CompletableFuture<RenewReply> renewed =
                        client.store.renew(new RenewBatch(List.of(item), LeaseClient.LIMIT.toNanos()));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(700));
                assertThat(asked).isNotDone();
                keeper.rollback();
                assertThat(asked.get(15, TimeUnit.SECONDS))
                        .isInstanceOfSatisfying(
                                AcquireReply.Granted.class,
                                granted -> assertThat(granted.grant().slot()).isEqualTo(1));
                assertThat(renewed.get(15, TimeUnit.SECONDS).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
                assertThat(client.acquire(request(pool, client.owner()))).isInstanceOf(AcquireReply.Busy.class);
            }
        }
    }

    /** A header that stays locked fails the renewals of its permits, and delays those of the same batch only for a while. */
    @Test
    default void aLockedHeaderFailsOnlyTheRenewalsOfItsPermits() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient client = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                LockName pool = LockName.exactly("kept " + dialect).asPermits(2);
                LockName other = LockName.exactly("free " + dialect).asPermits(2);
                OwnerToken holder = client.owner();
                client.acquire(request(pool, holder));
                client.acquire(request(other, holder));
                client.granted("beside " + dialect, holder);
                lock(keeper, "SELECT name FROM leasehold_lock WHERE name = 'permits\u001fkept " + dialect + "'");
                long ttlNanos = LeaseClient.TTL.toNanos();
                RenewBatch batch = new RenewBatch(
                        List.of(
                                new RenewBatch.Item(pool, holder, ttlNanos),
                                new RenewBatch.Item(other, holder, ttlNanos),
                                new RenewBatch.Item(LockName.exactly("beside " + dialect), holder, ttlNanos)),
                        LeaseClient.LIMIT.toNanos());
                long beganAtNanos = System.nanoTime();
                List<RenewReply.Item> renewed =
                        client.store.renew(batch).get(60, TimeUnit.SECONDS).items();
                assertThat(System.nanoTime() - beganAtNanos)
                        .as("a quarter of the limit, and some")
                        .isLessThan(LeaseClient.LIMIT.toNanos() / 2);
                assertThat(renewed.get(0)).isInstanceOf(RenewReply.Failed.class);
                assertThat(renewed.subList(1, 3))
                        .allSatisfy(item -> assertThat(item).isInstanceOf(RenewReply.Renewed.class));
                keeper.rollback();
            }
        }
    }

    /** A reader whose lock has its row locked is neither busy nor lost, and adds to what was committed meanwhile. */
    @Test
    default void aReaderWaitsForTheRowOfItsLock() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient client = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                LockName name = LockName.exactly("read " + dialect).asRead();
                assertThat(client.acquire(request(name, client.owner()))).isInstanceOf(AcquireReply.Granted.class);
                assertThat(client.acquire(request(name, client.owner()))).isInstanceOf(AcquireReply.Granted.class);
                assertThat(lock(keeper, "SELECT name FROM leasehold_lock WHERE name = '" + name + "'"))
                        .isTrue();
                CompletableFuture<AcquireReply> asked = client.store.acquire(request(name, client.owner()));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
                try (Statement statement = keeper.createStatement()) {
                    // As another client does: the second reader is renewed, and the row of the lock ends with it.
                    statement.executeUpdate("UPDATE leasehold_lock SET expires_at = expires_at + 3600000000000,"
                            + " ttl = ttl + 3600000000000 WHERE name IN ('" + name + "', 'readers\u001f" + name
                            + "\u001f1')");
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                assertThat(asked).isNotDone();
                keeper.commit();
                assertThat(asked.get(15, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
                assertThat(client.store.admin().readers(name, 10).get(15, TimeUnit.SECONDS))
                        .hasSize(3);
                assertThat(client.acquire(request(name.asExclusive(), client.owner())))
                        .isInstanceOfSatisfying(
                                AcquireReply.Busy.class,
                                busy -> assertThat(Objects.requireNonNull(busy.holder())
                                                .remainingTtl())
                                        .isGreaterThan(Duration.ofMinutes(30)));
            }
        }
    }

    /** Busy is confirmed under the lock of the header, and a permit that has ended is granted once. */
    @Test
    default void anEndedPermitIsGrantedToOneOfTwo() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient one = LeaseClient.open(runtime -> open(dialect, runtime));
                    LeaseClient two = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                LockName pool = LockName.exactly("ended " + dialect).asPermits(1);
                long shortNanos = TimeUnit.MILLISECONDS.toNanos(300);
                assertThat(one.acquire(AcquireRequest.exclusive(
                                List.of(pool), one.owner(), "test", shortNanos, LeaseClient.LIMIT.toNanos())))
                        .isInstanceOf(AcquireReply.Granted.class);
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(400));
                String header = "permits\u001fended " + dialect;
                assertThat(lock(keeper, "SELECT name FROM leasehold_lock WHERE name = '" + header + "'"))
                        .isTrue();
                List<CompletableFuture<AcquireReply>> asked = List.of(
                        one.store.acquire(request(pool, one.owner())), two.store.acquire(request(pool, two.owner())));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(700));
                keeper.rollback();
                int granted = 0;
                for (CompletableFuture<AcquireReply> reply : asked) {
                    granted += reply.get(15, TimeUnit.SECONDS) instanceof AcquireReply.Granted ? 1 : 0;
                }
                assertThat(granted).isEqualTo(1);
                lock(keeper, "SELECT name FROM leasehold_lock WHERE name = '" + header + "'");
                CompletableFuture<AcquireReply> busy = one.store.acquire(request(pool, one.owner()));
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500));
                assertThat(busy).as("it is not known whether it is busy").isNotDone();
                keeper.rollback();
                assertThat(busy.get(15, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Busy.class);
            }
        }
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(
                List.of(name), owner, "test", LeaseClient.TTL.toNanos(), LeaseClient.LIMIT.toNanos());
    }

    /** An attempt that stands aside is never carried out after the end of its owner token. */
    @Test
    default void whatIsWithdrawnWhileItsRowIsLockedIsNeverGranted() throws Exception {
        for (SqlDialect dialect : dialects()) {
            try (LeaseClient client = LeaseClient.open(runtime -> open(dialect, runtime));
                    Connection keeper = administrator()) {
                String name = "withdrawn " + dialect;
                lockUnused(client, name, keeper);
                // While it is queued, in progress, and standing aside.
                for (long delayMillis : new long[] {0, 50, 120, 500, 1_000}) {
                    OwnerToken owner = client.owner();
                    CompletableFuture<AcquireReply> asked = client.store.acquire(LeaseClient.request(name, owner));
                    LockSupport.parkNanos(delayMillis * 1_000_000);
                    // The release is not answered before the row is free.
                    assertThat(client.store.release(LeaseClient.releaseRequest(name, owner, 0)))
                            .isNotNull();
                    // Long before its time limit.
                    assertThat(asked.get(15, TimeUnit.SECONDS))
                            .isInstanceOfSatisfying(
                                    AcquireReply.Failed.class,
                                    failed -> assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT));
                }
                keeper.rollback();
                assertThat(client.granted(name, client.owner()).ballot()).isPositive();
            }
        }
    }

    /** Starts a thread that acquires the lock, and retries as long as the database is too busy. */
    private static Thread asking(LockClient locks, String name) {
        Thread thread = new Thread(
                () -> {
                    while (true) {
                        try (Lease lease = locks.named(name).tryAcquire(Duration.ofSeconds(30))) {
                            if (lease != null) {
                                return;
                            }
                        } catch (LockStoreException e) {
                            LockSupport.parkNanos(1_000_000);
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                            return;
                        }
                    }
                },
                "asking for " + name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /**
     * One row of each kind stays locked for two ttls at the same time: the row of the store, the client's own record
     * and an expired one, a lock with a waiter, a held one, an unused one, and gaps. Only the locks of these rows are
     * affected.
     */
    @Test
    default void rowsThatAreKeptLockedCostTheirOwnLocksAlone() throws Exception {
        Duration ttl = Duration.ofSeconds(10);
        for (SqlDialect dialect : dialects()) {
            try (LockClient locks = Leasehold.builder()
                            .store(runtime -> open(dialect, runtime))
                            .defaults(LockOptions.defaults().ttl(ttl))
                            .connect();
                    Connection keeper = administrator()) {
                for (String name : List.of("all kept", "all unused", "all used")) {
                    locks.named(name).acquire().close();
                }
                try (Connection connection = administrator();
                        Statement statement = connection.createStatement()) {
                    statement.execute("DELETE FROM leasehold_client");
                    statement.execute("INSERT INTO leasehold_client (holder, origin, expires_at, told)"
                            + " VALUES ('dead', 'database', 1, 'x')");
                }
                try (Lease mine = locks.named("all mine").acquire();
                        Lease lockedAway = locks.named("all held").acquire();
                        Lease endOfGap = locks.named("gaq").acquire()) {
                    assertThat(endOfGap.isValid()).isTrue();
                    while (locks.admin().client(locks.holderId()).isEmpty()) {
                        LockSupport.parkNanos(50_000_000);
                    }
                    lock(keeper, "SELECT fence_floor FROM leasehold_store WHERE id = 1");
                    lock(keeper, "SELECT holder FROM leasehold_client WHERE holder = 'dead'");
                    lock(keeper, "SELECT holder FROM leasehold_client WHERE holder = '" + locks.holderId() + "'");
                    for (String name : List.of("all kept", "all held", "all unused")) {
                        lock(keeper, "SELECT fence FROM leasehold_lock WHERE name = '" + name + "'");
                    }
                    for (String gap : gaps()) {
                        lock(keeper, gap);
                    }
                    Thread waiting = asking(locks, "all kept");
                    Thread inGap = asking(locks, "gap new");
                    int cycles = 0;
                    long slowestNanos = 0;
                    long beganAtNanos = System.nanoTime();
                    while (System.nanoTime() - beganAtNanos < 2 * ttl.toNanos()) {
                        long askedAtNanos = System.nanoTime();
                        try (Lease used = locks.named("all used").acquire();
                                Lease made = locks.named("one use " + dialect + cycles)
                                        .acquire()) {
                            assertThat(used.fencingToken()).isPositive();
                            assertThat(made.fencingToken()).isPositive();
                        }
                        slowestNanos = Math.max(slowestNanos, System.nanoTime() - askedAtNanos);
                        cycles++;
                        assertThat(mine.isValid())
                                .as("the other lease, by " + dialect)
                                .isTrue();
                    }
                    assertThat(cycles)
                            .as("other locks were used, by " + dialect)
                            .isGreaterThan(10);
                    assertThat(slowestNanos).as("the slowest, by " + dialect).isLessThan(ttl.toNanos());
                    assertThat(lockedAway.isValid()).as("its row was locked").isFalse();
                    keeper.rollback();
                    waiting.join();
                    inGap.join();
                    mine.renew();
                }
            }
        }
    }
}
