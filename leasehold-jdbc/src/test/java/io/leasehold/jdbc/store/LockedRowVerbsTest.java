package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static io.leasehold.jdbc.store.VerbsBench.renewal;
import static io.leasehold.jdbc.store.VerbsBench.request;
import static io.leasehold.jdbc.store.VerbsBench.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The verbs when other transactions lock rows, and when one statement is tried before a transaction. */
@Tag("quick")
class LockedRowVerbsTest {

    /** Returns the values that the test has inserted. */
    private static final String AT_ONCE = "SELECT owner, holder, expires_at, ttl, token, fence, waiter, micros, granted"
            + " FROM at_once WHERE ? <> '' AND name = ? AND ? <> '' AND ? <> '' AND ? > 0 AND ? > 0 AND ? >= 0";

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private VerbsBench bench;
    private Connection other;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(VerbsBench.h2(AT_ONCE, Dialect.Polling.INSTANCE), url);
        other = DriverManager.getConnection(url);
        other.setAutoCommit(false);
        bench.execute("CREATE TABLE at_once (name VARCHAR, owner VARCHAR, holder VARCHAR, expires_at BIGINT, ttl"
                + " BIGINT, token BIGINT, fence BIGINT, waiter VARCHAR, micros BIGINT, granted BOOLEAN)");
    }

    @AfterEach
    void close() throws SQLException {
        other.close();
        bench.execute("SHUTDOWN");
        bench.close();
    }

    private void lock(String name) throws SQLException {
        try (Statement statement = other.createStatement()) {
            statement
                    .executeQuery("SELECT * FROM leasehold_lock WHERE name = '" + name + "' FOR UPDATE")
                    .close();
        }
    }

    private @Nullable RenewReply renew(int tries, long begunAtNanos) throws SQLException {
        bench.table.begin(0);
        try {
            RenewReply reply =
                    bench.verbs.renew(renewal(1_000, ANN, "free", "locked"), bench.table, tries, begunAtNanos);
            bench.table.commit();
            return reply;
        } finally {
            bench.table.rollbackIfActive();
        }
    }

    private long end(String name) throws SQLException {
        return java.util.Objects.requireNonNull(bench.read(name).held()).expiresAtNanos();
    }

    @Test
    void aLockedRowKeepsNoOtherFromBeingRenewedAndIsReportedWhenItsTimeIsOver() throws SQLException {
        bench.table.insert(bench.row("free", bench.held(ANN, 5, null), null));
        bench.table.insert(bench.row("locked", bench.held(ANN, 5, null), null));
        lock("locked");
        long longAgo = bench.runtime.nanoTime() - 250;
        assertThat(renew(1, longAgo)).as("the first transaction").isNull();
        assertThat(end("free")).as("renewed all the same").isEqualTo(bench.nowNanos + TTL);
        assertThat(end("locked")).isEqualTo(bench.nowNanos + 5);
        assertThat(renew(2, longAgo)).as("the second transaction").isNull();
        assertThat(renew(3, longAgo + 1))
                .as("a quarter of the limit is not over")
                .isNull();
        RenewReply last = renew(3, longAgo);
        assertThat(last).isNotNull();
        assertThat(last.items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(last.items().get(1))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed -> assertThat(failed.error())
                                .hasMessageContainingAll(
                                        "locked", "store X", "another transaction keeps its row locked"));
        other.rollback();
        RenewReply unlocked = renew(1, bench.runtime.nanoTime());
        assertThat(unlocked).isNotNull();
        assertThat(unlocked.items()).allSatisfy(item -> assertThat(item).isInstanceOf(RenewReply.Renewed.class));
        assertThat(end("locked")).isEqualTo(bench.nowNanos + TTL);
    }

    /** The second transaction for a batch may wait. */
    @Test
    void aTransactionThatMayWaitForRowsWaitsForALockedOne() throws SQLException {
        bench.table.insert(bench.row("free", bench.held(ANN, 5, null), null));
        bench.table.insert(bench.row("locked", bench.held(ANN, 5, null), null));
        lock("locked");
        bench.execute("SET LOCK_TIMEOUT 1");
        bench.table.begin(1);
        assertThatThrownBy(() -> bench.verbs.renew(renewal(1_000, ANN, "free", "locked"), bench.table, 2, 0))
                .isInstanceOfSatisfying(
                        SQLException.class,
                        waited -> assertThat(waited.getErrorCode()).isEqualTo(50200));
        bench.table.rollback();
    }

    @Test
    void aLockedRowOfAnotherHolderIsNotOursAtOnce() throws SQLException {
        bench.table.insert(bench.row("free", bench.held(ANN, 5, null), null));
        bench.table.insert(bench.row("locked", bench.held(BOB, 5, null), null));
        lock("locked");
        RenewReply reply = renew(1, bench.runtime.nanoTime());
        assertThat(reply).isNotNull();
        assertThat(reply.items().get(1)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void oneClientLooksForOldRowsAtATimeAndNoneDeletesWhatAnotherHasLocked() throws SQLException {
        bench.table.insert(bench.row("old", null, null));
        bench.table.insert(bench.row("locked", null, null));
        lock("locked");
        bench.table.begin(0);
        bench.verbs.prune(bench.table);
        bench.table.commit();
        assertThat(bench.table.read(name("old"))).isNull();
        assertThat(bench.table.read(name("locked"))).isNotNull();
        other.rollback();
        try (Statement statement = other.createStatement()) {
            statement.executeQuery("SELECT * FROM leasehold_store FOR UPDATE").close();
        }
        bench.table.begin(0);
        assertThatThrownBy(() -> bench.verbs.prune(bench.table)).isInstanceOf(RowLockedException.class);
        bench.table.rollback();
    }

    @Test
    void whatIsLockedIsNotTakenForAbsent() throws SQLException {
        bench.table.insert(bench.row("locked", null, null));
        lock("locked");
        bench.table.begin(0);
        assertThatThrownBy(() -> bench.verbs.acquire(request(ANN, "locked"), bench.table))
                .isInstanceOf(RowLockedException.class);
        bench.table.rollback();
    }

    /** Sets the answer of the one statement about "x". */
    private void answers(boolean granted, @Nullable String owner, long leftMicros, @Nullable String waiter)
            throws SQLException {
        long micros = bench.micros();
        String quoted = owner == null ? "NULL, NULL" : "'" + owner + "', 'holder'";
        bench.execute("DELETE FROM at_once");
        bench.execute("INSERT INTO at_once VALUES ('x', " + quoted + ", " + (micros + leftMicros) * 1000 + ", " + TTL
                + ", 40, 42, "
                + (waiter == null ? "NULL" : "'" + waiter + "'") + ", " + micros + ", " + granted + ")");
    }

    private @Nullable AcquireReply atOnce(AcquireRequest request) throws SQLException {
        return bench.verbs.acquireAtOnce(request, bench.table, 1_000_000);
    }

    @Test
    void whatOneStatementGrantsCountsFromItsSendingAndEndsTheWait() throws SQLException {
        assertThat(atOnce(waiting(ANN, "x"))).as("no row came of it").isNull();
        bench.table.insert(bench.row("x", bench.held(BOB, TTL, null), bench.waiter(ANN)));
        bench.watch.add(ANN, List.of(name("x")), TTL, TTL);
        answers(true, ANN.hex(), 30_000_000, null);
        long askedAtNanos = bench.runtime.nanoTime();
        assertThat(atOnce(waiting(ANN, "x"))).isInstanceOfSatisfying(AcquireReply.Granted.class, granted -> {
            assertThat(granted.grant().tokens()).isEqualTo(new TokenRange(40, 42));
            assertThat(granted.grant().sentAtNanos()).isEqualTo(askedAtNanos);
            assertThat(granted.grant().owner()).isEqualTo(ANN);
        });
        bench.execute("DELETE FROM leasehold_lock");
        assertThat(bench.wokenByALook()).as("it waits no more").isEmpty();
        assertThat(bench.prunesAsked).as("it may have made a row").isEqualTo(1);
    }

    @Test
    void whoMustWaitIsToldByOneStatementOnlyWhereAnotherIsNotedAlready() throws SQLException {
        answers(false, BOB.hex(), 5_000, null);
        assertThat(atOnce(waiting(ANN, "x"))).as("it is to be noted").isNull();
        assertThat(atOnce(request(ANN, "x"))).isInstanceOfSatisfying(AcquireReply.Busy.class, busy -> {
            assertThat(busy.holder()).isNotNull();
            assertThat(busy.holder().remainingTtl()).isEqualTo(Duration.ofMillis(5));
        });
        assertThat(bench.polling.acquireAtOnce(waiting(ANN, "x"), bench.table, 1))
                .as("it polls")
                .isInstanceOf(AcquireReply.Busy.class);
        answers(false, BOB.hex(), 5_000, "f".repeat(40));
        assertThat(atOnce(waiting(ANN, "x"))).isInstanceOf(AcquireReply.Queued.class);
        assertThat(bench.wokenByALook()).as("it is watched").containsExactly(name("x"));
    }

    @Test
    void whoMustWaitByOneStatementIsWatchedUntilItsRecheck() throws SQLException {
        answers(false, BOB.hex(), 5_000, "f".repeat(40));
        assertThat(atOnce(waiting(ANN, "x"))).isInstanceOf(AcquireReply.Queued.class);
        bench.goOn(Duration.ofMillis(2_990));
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
        bench.goOn(Duration.ofMillis(20));
        assertThat(bench.wokenByALook()).as("it would have asked again").isEmpty();
    }

    @Test
    void whatOneStatementCannotTellATransactionDoes() throws SQLException {
        answers(false, null, 0, BOB.hex());
        assertThat(atOnce(request(ANN, "x"))).as("kept for another").isNull();
        answers(false, ANN.hex(), 5_000, null);
        assertThat(atOnce(request(ANN, "x"))).as("held by who asks").isNull();
        answers(false, BOB.hex(), 0, null);
        assertThat(atOnce(request(ANN, "x"))).as("over by now").isNull();
        assertThat(atOnce(request(ANN, "x", "y"))).as("several").isNull();
        answers(false, BOB.hex(), TTL / 1000, "f".repeat(40));
        assertThat(atOnce(request(ANN, "x"))).as("just begun").isInstanceOf(AcquireReply.Busy.class);
        answers(false, BOB.hex(), TTL / 1000 + 1, "f".repeat(40));
        assertThat(atOnce(request(ANN, "x"))).as("the clock went back").isNull();
        assertThat(atOnce(waiting(ANN, "x"))).as("the clock went back").isNull();
    }
}
