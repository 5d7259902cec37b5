package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.CAT;
import static io.leasehold.jdbc.store.VerbsBench.ORIGIN;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.ending;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static io.leasehold.jdbc.store.VerbsBench.renewal;
import static io.leasehold.jdbc.store.VerbsBench.request;
import static io.leasehold.jdbc.store.VerbsBench.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The reads, writes and notifications of the verbs, over a file. */
@Tag("quick")
class LeaseVerbsTest {

    @TempDir
    private Path directory;

    private VerbsBench bench;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"));
    }

    @AfterEach
    void close() throws SQLException {
        bench.close();
    }

    private AcquireReply acquire(io.leasehold.spi.AcquireRequest request) throws SQLException {
        return bench.verbs.acquire(request, bench.table);
    }

    private RenewReply.Item renew(io.leasehold.spi.OwnerToken owner) throws SQLException {
        RenewReply reply = bench.verbs.renew(renewal(1, owner, "x"), bench.table, 1, 0);
        assertThat(reply).isNotNull();
        return reply.items().get(0);
    }

    @Test
    void aHoldIsBoundToTheLifeOfItsProcessAndCountsFromItsReading() throws SQLException {
        long askedAtNanos = bench.runtime.nanoTime();
        bench.whenTheTimeIsRead = () -> bench.goOn(Duration.ofMillis(10));
        assertThat(acquire(request(ANN, "x")))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().sentAtNanos()).isEqualTo(askedAtNanos));
        assertThat(bench.read("x").held()).isNotNull().satisfies(held -> {
            assertThat(held.life()).isEqualTo("own life");
            assertThat(held.expiresAtNanos()).isEqualTo(askedAtNanos + TTL);
        });
    }

    @Test
    void onlyWhoWaitsIsNotedAndOnlyWhereWaitersAreWoken() throws SQLException {
        acquire(request(ANN, "x"));
        assertThat(bench.polling.acquire(waiting(BOB, "x"), bench.table)).isInstanceOf(AcquireReply.Busy.class);
        assertThat(acquire(request(BOB, "x"))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(bench.read("x").waiter()).isNull();
        assertThat(acquire(waiting(BOB, "x"))).isInstanceOf(AcquireReply.Queued.class);
        assertThat(bench.read("x").waiter()).isEqualTo(new LeaseRow.Waiter(BOB, bench.nowNanos));
        assertThat(bench.read("x").held()).isNotNull();
    }

    @Test
    void whoIsGrantedIsNotWokenAnyMore() throws SQLException {
        acquire(request(ANN, "x"));
        acquire(waiting(BOB, "x"));
        bench.verbs.release(ending(ANN, 0, "x"), bench.table);
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
        assertThat(acquire(waiting(BOB, "x"))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(bench.verbs.forceRelease(name("x"), null, bench.table)).isNotNull();
        bench.goOn(Duration.ofSeconds(1));
        assertThat(bench.wokenByALook()).isEmpty();
    }

    @Test
    void aFenceThatLeavesNoTokenIsAnErrorThatLasts() throws SQLException {
        bench.table.insert(bench.row("x", null, null).withFenceAbove(TokenRange.LIMIT - 2));
        assertThat(acquire(request(ANN, "x"))).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
            assertThat(failed.error()).hasMessageContainingAll("[x] at store X", "would reach 2^53");
        });
    }

    @Test
    void whoIsBehindAWaiterThatLeavesIsWoken() throws SQLException {
        acquire(request(ANN, "x"));
        acquire(waiting(BOB, "x"));
        acquire(waiting(CAT, "x"));
        assertThat(bench.wokenByALook()).isEmpty();
        assertThat(bench.verbs.release(ending(BOB, 0, "x"), bench.table)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(bench.read("x").waiter()).isNull();
        assertThat(bench.read("x").held()).isNotNull();
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
    }

    @Test
    void aReleaseByForceEndsTheHoldOfItsHolderAloneAndWakesWhoWaits() throws SQLException {
        acquire(request(ANN, "x"));
        acquire(waiting(BOB, "x"));
        bench.wokenByALook();
        assertThat(bench.verbs.forceRelease(name("x"), "another", bench.table)).isNull();
        assertThat(bench.verbs.forceRelease(name("y"), null, bench.table)).isNull();
        assertThat(bench.wokenByALook()).isEmpty();
        assertThat(bench.verbs.forceRelease(name("x"), "holder", bench.table))
                .isNotNull()
                .satisfies(held -> assertThat(held.owner()).isEqualTo(ANN));
        assertThat(bench.read("x").held()).isNull();
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
        assertThat(bench.verbs.forceRelease(name("x"), null, bench.table)).isNull();
    }

    @Test
    void aReleaseByForceOfADeadHolderTakesNothing() throws SQLException {
        bench.table.insert(bench.row("x", bench.held(ANN, TTL, "a life"), null));
        bench.states.put("a life", Lives.State.OVER);
        assertThat(bench.verbs.forceRelease(name("x"), null, bench.table)).isNull();
    }

    /** The row is written once, so that it is kept for its waiter from the first check on. */
    @Test
    void theDeathOfAHolderIsWrittenWhateverIsDecided() throws SQLException {
        bench.table.insert(bench.row("x", bench.held(ANN, TTL, "a life"), bench.waiter(BOB)));
        bench.states.put("a life", Lives.State.OVER);
        long deathNanos = bench.nowNanos;
        assertThat(acquire(request(CAT, "x"))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(bench.read("x").held()).isNull();
        assertThat(bench.read("x").freedAtNanos()).isEqualTo(deathNanos);
        bench.nowNanos += Duration.ofMillis(49).toNanos();
        assertThat(acquire(request(CAT, "x"))).isInstanceOf(AcquireReply.Busy.class);
        bench.nowNanos += Duration.ofMillis(1).toNanos();
        assertThat(acquire(request(CAT, "x"))).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aHoldThatIsCutSinceTheClockWentBackIsWrittenWhateverIsDecided() throws SQLException {
        bench.table.insert(bench.row("x", bench.held(ANN, 10 * TTL, null), null));
        assertThat(acquire(request(BOB, "x"))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(bench.read("x").held())
                .isNotNull()
                .satisfies(held -> assertThat(held.expiresAtNanos()).isEqualTo(bench.nowNanos + TTL));
        LeaseRow asItIs = bench.read("x");
        bench.nowNanos += 5;
        bench.execute("CREATE TRIGGER quiet BEFORE UPDATE ON leasehold_lock BEGIN SELECT RAISE(ABORT, 'written'); END");
        assertThat(acquire(request(BOB, "x"))).as("only then").isInstanceOf(AcquireReply.Busy.class);
        assertThat(bench.read("x")).isEqualTo(asItIs);
    }

    @Test
    void theFirstTokenOfANewRowAndOfOneOfAnEarlierBootIsAboveTheFloor() throws SQLException {
        long floor = bench.micros() + 1_000;
        bench.table.raiseFenceFloor(floor);
        bench.table.insert(bench.row("known", null, null));
        bench.table.insert(bench.row("earlier", null, null).countedFrom("an earlier boot"));
        assertThat(token("new")).isEqualTo(floor + 1);
        assertThat(token("earlier")).isEqualTo(floor + 1);
        assertThat(token("known")).isEqualTo(bench.micros());
    }

    private long token(String name) throws SQLException {
        return ((AcquireReply.Granted) acquire(request(ANN, name)))
                .grant()
                .tokens()
                .first();
    }

    @Test
    void severalLocksWithAndWithoutRowsAreTakenAndGivenBackTogether() throws SQLException {
        bench.table.insert(bench.row("b", null, null));
        assertThat(acquire(request(ANN, "a", "b", "c"))).isInstanceOf(AcquireReply.Granted.class);
        for (String name : List.of("a", "b", "c")) {
            assertThat(bench.read(name).held()).isNotNull();
        }
        assertThat(bench.verbs.release(ending(ANN, 0, "a", "b", "c"), bench.table))
                .isInstanceOf(ReleaseReply.Released.class);
        for (String name : List.of("a", "b", "c")) {
            assertThat(bench.read(name).held()).isNull();
        }
        assertThat(bench.verbs.release(ending(ANN, 0, "a", "b", "c"), bench.table))
                .isInstanceOf(ReleaseReply.NotOurs.class);
    }

    @Test
    void whoWaitsForSeveralLocksIsNotedAtEachAndForgottenAtEach() throws SQLException {
        acquire(request(ANN, "a"));
        acquire(request(ANN, "b"));
        assertThat(acquire(waiting(BOB, "a", "b"))).isInstanceOf(AcquireReply.Queued.class);
        for (String name : List.of("a", "b")) {
            assertThat(bench.read(name).waiter()).isNotNull();
            assertThat(bench.read(name).waiter().owner()).isEqualTo(BOB);
        }
        bench.verbs.release(ending(BOB, 0, "a", "b"), bench.table);
        for (String name : List.of("a", "b")) {
            assertThat(bench.read(name).waiter()).isNull();
            assertThat(bench.read(name).held()).isNotNull();
        }
    }

    @Test
    void aReleaseIsOneEvenIfOnlyTheFirstOfItsLocksWasHeld() throws SQLException {
        acquire(request(ANN, "a"));
        assertThat(bench.verbs.release(ending(ANN, 0, "a", "b"), bench.table))
                .isInstanceOf(ReleaseReply.Released.class);
    }

    @Test
    void aReleaseRaisesTheFenceWhetherOrNotThereIsARow() throws SQLException {
        long ballot = bench.micros() + 500;
        acquire(request(ANN, "known"));
        bench.verbs.release(ending(BOB, ballot, "known", "new"), bench.table);
        assertThat(bench.read("known").fence()).isEqualTo(ballot);
        assertThat(bench.read("known").held()).isNotNull();
        assertThat(bench.read("new").fence()).isEqualTo(ballot);
        bench.verbs.release(ending(BOB, 0, "unknown"), bench.table);
        assertThat(bench.table.read(name("unknown"))).as("nothing to keep").isNull();
    }

    @Test
    void aRenewalExtendsItsHoldAndCountsFromItsReading() throws SQLException {
        acquire(request(ANN, "x"));
        bench.nowNanos += 1_000;
        long askedAtNanos = bench.runtime.nanoTime();
        bench.whenTheTimeIsRead = () -> bench.goOn(Duration.ofMillis(10));
        assertThat(renew(ANN)).isEqualTo(new RenewReply.Renewed(askedAtNanos));
        assertThat(bench.read("x").held())
                .isNotNull()
                .satisfies(held -> assertThat(held.expiresAtNanos()).isEqualTo(askedAtNanos + TTL));
        bench.whenTheTimeIsRead = () -> {};
        assertThat(renew(BOB)).isInstanceOf(RenewReply.NotOurs.class);
        bench.nowNanos += TTL;
        assertThat(renew(ANN)).as("its end has come").isInstanceOf(RenewReply.NotOurs.class);
        bench.execute("DELETE FROM leasehold_lock");
        assertThat(renew(ANN)).isInstanceOf(RenewReply.NotOurs.class);
    }

    @Test
    void whatHasNothingToExtendIsNotWritten() throws SQLException {
        acquire(request(ANN, "x"));
        bench.execute("CREATE TRIGGER quiet BEFORE UPDATE ON leasehold_lock BEGIN SELECT RAISE(ABORT, 'written'); END");
        assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** Another row of this name may have been created and deleted since the floor was read. */
    @Test
    void aRowThatTookTooLongToMakeIsNotUsed() throws SQLException {
        long limit = VerbsBench.RETENTION.toNanos() / 2;
        bench.whenTheTimeIsRead = () -> bench.goOn(Duration.ofNanos(limit - 1));
        assertThat(acquire(request(ANN, "in time"))).isInstanceOf(AcquireReply.Granted.class);
        bench.whenTheTimeIsRead = () -> bench.goOn(Duration.ofNanos(limit));
        assertThatThrownBy(() -> acquire(request(ANN, "late")))
                .isInstanceOf(RowLockedException.class)
                .hasMessageContaining("the row of late");
        assertThat(acquire(request(ANN, "in time"))).as("one that is there").isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void afterEverySoManyNewRowsItIsLookedForOldOnes() throws SQLException {
        for (int i = 0; i < 129; i++) {
            assertThat(bench.prunesAsked).isEqualTo((i + 63) / 64);
            acquire(request(ANN, "x" + i));
            acquire(request(ANN, "x" + i));
        }
        assertThat(bench.prunesAsked).isEqualTo(3);
    }

    private void idle(String name, long fence) throws SQLException {
        bench.table.insert(new LeaseRow(name(name), ORIGIN, null, null, bench.nowNanos, fence));
    }

    @Test
    void whatIsOlderThanTheRetentionIsDeletedAndItsTokensGoOn() throws SQLException {
        long oldest = bench.micros() - VerbsBench.RETENTION.toNanos() / 1000;
        idle("old", oldest - 1);
        idle("older", oldest - 10);
        idle("young", oldest);
        bench.table.insert(bench.row("held", bench.held(ANN, TTL, null), null));
        bench.table.insert(bench.row("dead", bench.held(ANN, TTL, "a life"), null));
        bench.states.put("a life", Lives.State.OVER);
        bench.verbs.prune(bench.table);
        assertThat(bench.table.read(name("old"))).isNull();
        assertThat(bench.table.read(name("older"))).isNull();
        assertThat(bench.table.read(name("dead"))).isNull();
        assertThat(bench.table.read(name("young"))).isNotNull();
        assertThat(bench.table.read(name("held"))).isNotNull();
        assertThat(bench.table.fenceFloor()).isEqualTo(oldest - 1);
        assertThat(bench.prunesAsked).as("another look").isZero();
        idle("low", 3);
        bench.verbs.prune(bench.table);
        assertThat(bench.table.read(name("low"))).as("from the beginning again").isNull();
        assertThat(bench.table.fenceFloor()).as("never lower").isEqualTo(oldest - 1);
    }

    @Test
    void whatOneLookDoesNotReadIsReadByTheNextWhichComesSoon() throws SQLException {
        for (int i = 0; i < 20; i++) {
            bench.table.insert(bench.row("held" + i, bench.held(ANN, TTL, null), null));
        }
        idle("old", 8);
        bench.verbs.prune(bench.table);
        assertThat(bench.prunesAsked).isEqualTo(1);
        assertThat(bench.table.read(name("old"))).isNotNull();
        bench.verbs.prune(bench.table);
        assertThat(bench.prunesAsked).as("the last page").isEqualTo(1);
        assertThat(bench.table.read(name("old"))).isNull();
    }

    @Test
    void theNextLookBeginsBehindTheLastRowOfTheOneBefore() throws SQLException {
        for (int i = 0; i < 25; i++) {
            LeaseRow.Held held = bench.held(ANN, TTL, null);
            bench.table.insert(new LeaseRow(name("held" + i), ORIGIN, held, null, 0, 10 + i));
        }
        idle("old", 40);
        bench.verbs.prune(bench.table);
        assertThat(bench.prunesAsked).isEqualTo(1);
        assertThat(bench.table.read(name("old"))).isNotNull();
        bench.verbs.prune(bench.table);
        assertThat(bench.table.read(name("old"))).isNull();
        assertThat(bench.prunesAsked).as("the last page").isEqualTo(1);
    }
}
