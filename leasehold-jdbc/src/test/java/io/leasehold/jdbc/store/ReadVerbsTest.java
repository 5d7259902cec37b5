package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.CAT;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static io.leasehold.jdbc.store.VerbsBench.ending;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static io.leasehold.jdbc.store.VerbsBench.request;
import static io.leasehold.jdbc.store.VerbsBench.waiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.ReadRules;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.TokenRange;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
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

/** The verbs of readers: rows that are left, a clock that goes back, locked rows, turns and housekeeping. */
@Tag("quick")
class ReadVerbsTest {

    private static final LockName X = name("x").asRead();
    private static final OwnerToken DAN = OwnerToken.fromHex("d".repeat(40));
    private static final Duration LITTLE = Duration.ofMillis(1);

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private VerbsBench bench;
    private ReadVerbs verbs;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(H2Dialect.dialect(), url);
        verbs = bench.polling.readers();
    }

    @AfterEach
    void close() throws SQLException {
        bench.execute("SHUTDOWN");
        bench.close();
    }

    private static AcquireRequest read(OwnerToken owner, long ttlNanos) {
        return AcquireRequest.exclusive(List.of(X), owner, "holder", ttlNanos, 1);
    }

    private static AcquireRequest readWaiting(OwnerToken owner) {
        return read(owner, TTL).waiting(Duration.ofSeconds(3).toNanos());
    }

    private AcquireReply reader(OwnerToken owner) throws SQLException {
        return verbs.acquire(read(owner, TTL), bench.table);
    }

    private AcquireReply writer(AcquireRequest request) throws SQLException {
        return bench.polling.acquire(request, bench.table);
    }

    private RenewReply renewals(OwnerToken owner, int tries, long begunAtNanos) throws SQLException {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(X, owner, TTL)), 1_000);
        return verbs.renew(X, batch, bench.table, tries, begunAtNanos);
    }

    private RenewReply.Item renew(OwnerToken owner) throws SQLException {
        return renewals(owner, 1, 0).items().get(0);
    }

    private ReleaseReply release(OwnerToken owner) throws SQLException {
        return verbs.release(new ReleaseRequest(List.of(X), owner, 0, ReleaseRequest.Kind.RELEASE, 1), bench.table);
    }

    private LeaseRow row() throws SQLException {
        return bench.read("x");
    }

    private long end() throws SQLException {
        LeaseRow.@Nullable Held held = row().held();
        assertThat(held).isNotNull();
        return held.expiresAtNanos();
    }

    private long rows() throws SQLException {
        try (Statement statement = bench.connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM leasehold_lock WHERE name LIKE 'r%'")) {
            result.next();
            return result.getLong(1);
        }
    }

    private static void assertGranted(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
    }

    private static void assertBusy(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Busy.class);
    }

    @Test
    void theRowOfTheLockEndsWithTheLastReader() throws SQLException {
        assertGranted(verbs.acquire(read(ANN, TTL), bench.table));
        assertGranted(verbs.acquire(read(BOB, TTL / 2), bench.table));
        assertThat(row().held())
                .isNotNull()
                .satisfies(held -> assertThat(held.owner().hex()).isEqualTo("0".repeat(40)));
        assertThat(end()).isEqualTo(bench.nowNanos + TTL);
        release(ANN);
        assertThat(end()).as("it shrinks").isEqualTo(bench.nowNanos + TTL / 2);
        bench.goOn(LITTLE);
        renew(BOB);
        assertThat(end()).as("and moves with a renewal").isEqualTo(bench.nowNanos + TTL);
        assertGranted(verbs.acquire(read(BOB, 1), bench.table));
        assertThat(end()).as("a repeated request does not shorten").isEqualTo(bench.nowNanos + TTL);
        release(BOB);
        assertThat(row().held()).isNull();
        assertThat(rows()).isZero();
    }

    /** A row that an earlier reader left behind means nothing, although its slot is used again. */
    @Test
    void aSlotOfEarlierReadersIsNoHold() throws SQLException {
        reader(ANN);
        reader(BOB);
        bench.goOn(Duration.ofNanos(TTL));
        assertGranted(writer(request(CAT, "x")));
        bench.polling.release(ending(CAT, 0, "x"), bench.table);
        assertThat(rows()).as("a writer does not look at them").isEqualTo(2);
        // They would count again if only their own ends were looked at.
        bench.goOn(Duration.ofNanos(-TTL).plusMillis(1));
        assertThat(renew(ANN)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(BOB)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertGranted(reader(DAN));
        assertThat(verbs.list(X, 10, bench.table)).hasSize(1);
        assertThat(renew(ANN)).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(renew(BOB)).isInstanceOf(RenewReply.NotOurs.class);
        assertGranted(reader(CAT));
        assertThat(verbs.list(X, 10, bench.table)).hasSize(2);
        assertThat(rows()).isEqualTo(2);
    }

    @Test
    void aLockIsFreeATtlAfterTheClockWentBack() throws SQLException {
        reader(ANN);
        bench.goOn(Duration.ofHours(-5));
        assertBusy(writer(request(BOB, "x")));
        assertThat(end()).as("the bounded end is stored").isEqualTo(bench.nowNanos + TTL);
        assertGranted(reader(CAT));
        assertThat(verbs.list(X, 10, bench.table))
                .allSatisfy(holder -> assertThat(holder.remainingTtl()).isEqualTo(Duration.ofNanos(TTL)));
        bench.goOn(Duration.ofNanos(TTL));
        assertGranted(writer(request(BOB, "x")));
    }

    @Test
    void manyReadersShareALock() throws SQLException {
        int many = 300;
        for (int i = 1; i <= many; i++) {
            assertGranted(reader(OwnerToken.fromHex(String.format(java.util.Locale.ROOT, "%040x", i))));
        }
        assertThat(verbs.list(X, many + 1, bench.table)).hasSize(many);
        for (int i = 1; i <= many; i++) {
            assertBusy(writer(request(ANN, "x")));
            assertThat(release(OwnerToken.fromHex(String.format(java.util.Locale.ROOT, "%040x", i))))
                    .isInstanceOf(ReleaseReply.Released.class);
        }
        assertThat(rows()).isZero();
        assertGranted(writer(request(ANN, "x")));
    }

    @Test
    void aWriterThatWaitsKeepsFurtherReadersOutUntilItsNoteEnds() throws SQLException {
        reader(ANN);
        assertBusy(writer(request(BOB, "x")));
        assertThat(row().waiter()).as("it does not wait").isNull();
        assertBusy(writer(waiting(BOB, "x")));
        assertBusy(reader(CAT));
        assertThat(renew(ANN)).as("holders are exempt").isInstanceOf(RenewReply.Renewed.class);
        assertGranted(reader(ANN));
        bench.goOn(Duration.ofSeconds(6));
        assertBusy(writer(waiting(BOB, "x")));
        bench.goOn(Duration.ofSeconds(6));
        assertBusy(reader(CAT));
        bench.goOn(Duration.ofSeconds(1));
        assertGranted(reader(CAT));
    }

    @Test
    void aWriterThatGivesUpLetsReadersIn() throws SQLException {
        reader(ANN);
        writer(waiting(BOB, "x"));
        assertBusy(reader(CAT));
        bench.polling.release(ending(BOB, 0, "x"), bench.table);
        assertGranted(reader(CAT));
        assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aNoteOfAWriterIsNotTakenOverBeforeItEnds() throws SQLException {
        reader(ANN);
        writer(waiting(BOB, "x"));
        writer(waiting(CAT, "x"));
        assertThat(row().waiter()).isEqualTo(new LeaseRow.Waiter(BOB, bench.nowNanos));
        bench.goOn(Duration.ofSeconds(7));
        writer(waiting(CAT, "x"));
        assertThat(row().waiter()).isEqualTo(new LeaseRow.Waiter(CAT, bench.nowNanos));
    }

    /** It polls, so the lock is kept from readers for a pause between two requests. */
    @Test
    void aFreeLockIsKeptForTheWriterThatWaited() throws SQLException {
        reader(ANN);
        writer(waiting(BOB, "x"));
        bench.goOn(Duration.ofMillis(20));
        release(ANN);
        assertBusy(reader(CAT));
        bench.goOn(ReadRules.OLDER_NOTE.minusMillis(1));
        assertBusy(reader(CAT));
        assertGranted(writer(waiting(BOB, "x")));
        bench.polling.release(ending(BOB, 0, "x"), bench.table);
        assertGranted(reader(CAT));
        assertThat(row().waiter()).isNull();
    }

    @Test
    void aWriterThatIsGoneCostsOneClaim() throws SQLException {
        reader(ANN);
        writer(waiting(BOB, "x"));
        bench.goOn(Duration.ofMillis(20));
        release(ANN);
        bench.goOn(ReadRules.OLDER_NOTE);
        assertGranted(reader(CAT));
        assertThat(row().waiter()).as("it had its chance").isNull();
    }

    @Test
    void aReaderThatWaitsComesBeforeALaterWriter() throws SQLException {
        writer(request(ANN, "x"));
        assertBusy(verbs.acquire(readWaiting(BOB), bench.table));
        assertThat(row().waiter()).isEqualTo(new LeaseRow.Waiter(BOB, bench.nowNanos, true));
        assertGranted(verbs.downgrade(read(CAT, TTL), ANN, bench.table));
        assertBusy(writer(waiting(DAN, "x")));
        assertGranted(verbs.acquire(readWaiting(BOB), bench.table));
        assertThat(row().waiter()).isNull();
        assertBusy(writer(waiting(DAN, "x")));
        assertBusy(reader(ANN));
    }

    @Test
    void aWriterNotedBehindAWriterKeepsReadersOutAfterADowngrade() throws SQLException {
        bench.verbs.acquire(request(ANN, "x"), bench.table);
        bench.verbs.acquire(waiting(BOB, "x"), bench.table);
        assertGranted(verbs.downgrade(read(CAT, TTL), ANN, bench.table));
        assertBusy(reader(DAN));
        bench.goOn(ReadRules.OLDER_NOTE);
        assertGranted(reader(DAN));
    }

    @Test
    void aNoteDoesNotOutliveAClockThatWentBack() throws SQLException {
        reader(ANN);
        writer(waiting(BOB, "x"));
        bench.goOn(Duration.ofHours(-5));
        assertGranted(reader(CAT));
        writer(waiting(BOB, "x"));
        assertBusy(reader(DAN));
    }

    @Test
    void aDowngradeIsRepeatedAndNeverTakesAFreeLock() throws SQLException {
        writer(request(ANN, "x"));
        assertGranted(verbs.downgrade(read(BOB, TTL), ANN, bench.table));
        long token = row().fence();
        assertGranted(verbs.downgrade(read(BOB, TTL), ANN, bench.table));
        assertThat(row().fence()).isGreaterThan(token);
        assertThat(verbs.list(X, 10, bench.table)).hasSize(1);
        assertBusy(verbs.downgrade(read(CAT, TTL), ANN, bench.table));
        release(BOB);
        assertBusy(verbs.downgrade(read(BOB, TTL), ANN, bench.table));
        assertThat(row().held()).isNull();
    }

    @Test
    void aReaderIsReleasedByForce() throws SQLException {
        reader(ANN);
        verbs.acquire(AcquireRequest.exclusive(List.of(X), BOB, "other", TTL, 1), bench.table);
        assertThat(bench.polling.forceRelease(name("x"), null, bench.table))
                .as("no writer holds")
                .isNull();
        assertThat(verbs.forceRelease(name("x"), "nobody", bench.table)).isEmpty();
        assertThat(verbs.forceRelease(name("x"), "other", bench.table))
                .singleElement()
                .satisfies(held -> assertThat(held.owner()).isEqualTo(BOB));
        assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
        long fence = row().fence();
        assertThat(verbs.forceRelease(name("x"), Holder.READERS, bench.table)).hasSize(1);
        assertThat(row().fence()).isGreaterThan(fence);
        assertThat(row().held()).isNull();
        assertThat(verbs.forceRelease(name("x"), null, bench.table)).isEmpty();
    }

    @Test
    void aFenceThatLeavesNoTokenIsAnErrorThatLasts() throws SQLException {
        bench.table.insert(bench.row("x", null, null).withFenceAbove(TokenRange.LIMIT - 2));
        assertThat(reader(ANN))
                .isInstanceOfSatisfying(
                        AcquireReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
    }

    @Test
    void theEndOfAnUnknownReaderRaisesTheFence() throws SQLException {
        long ballot = bench.micros() + 1_000;
        ReleaseRequest undo = new ReleaseRequest(List.of(X), ANN, ballot, ReleaseRequest.Kind.UNDO, 1);
        assertThat(verbs.release(undo, bench.table)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(reader(BOB))
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().tokens().first()).isGreaterThan(ballot));
    }

    private void prune() throws SQLException {
        bench.polling.prune(bench.table);
    }

    @Test
    void housekeepingLeavesReadersThatHold() throws SQLException {
        reader(ANN);
        reader(BOB);
        for (Duration age = Duration.ZERO; age.compareTo(VerbsBench.RETENTION) <= 0; age = age.plusSeconds(29)) {
            bench.goOn(Duration.ofSeconds(29));
            assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
            assertThat(renew(BOB)).isInstanceOf(RenewReply.Renewed.class);
        }
        prune();
        assertThat(rows()).isEqualTo(2);
        assertBusy(writer(request(CAT, "x")));
        assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
    }

    /** Readers that crashed, and a lock that only writers used afterwards. */
    @Test
    void housekeepingDropsReadersThatHaveEnded() throws SQLException {
        reader(ANN);
        reader(BOB);
        bench.goOn(Duration.ofNanos(TTL));
        prune();
        assertThat(rows()).as("they are young").isEqualTo(2);
        writer(request(CAT, "x"));
        bench.goOn(VerbsBench.RETENTION.plusSeconds(1));
        writer(request(DAN, "x"));
        prune();
        assertThat(rows()).isZero();
        assertThat(row().isHeldBy(DAN)).isTrue();
    }

    @Test
    void aRowThatIsLockedIsReportedAfterAPartOfTheTimeLimit() throws SQLException {
        reader(ANN);
        try (Connection other = DriverManager.getConnection(url);
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT * FROM leasehold_lock WHERE name = 'x' FOR UPDATE")
                    .close();
            long now = bench.runtime.nanoTime();
            bench.table.begin(0);
            assertThatThrownBy(() -> renewals(ANN, 2, now - 250)).isInstanceOf(RowLockedException.class);
            assertThatThrownBy(() -> renewals(ANN, 3, now - 249)).isInstanceOf(RowLockedException.class);
            assertThatThrownBy(() -> reader(BOB)).isInstanceOf(RowLockedException.class);
            assertThatThrownBy(() -> release(ANN)).isInstanceOf(RowLockedException.class);
            assertThat(renewals(ANN, 3, now - 250).items().get(0))
                    .isInstanceOfSatisfying(
                            RenewReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .hasMessageContainingAll("\"x\" as a reader", "store X", "keeps its row locked"));
            bench.table.rollback();
            other.rollback();
        }
        assertThat(renew(ANN)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aNameThatIsTooLongIsRefusedBeforeTheDatabaseIsAsked() {
        LockName longest = name("n".repeat(1_000)).asRead();
        LockName tooLong = name("n".repeat(1_001)).asRead();
        TableReaders readers = new TableReaders(new WorkQueue(bench.runtime, "store X"), bench.runtime, verbs);
        assertThat(readers.acquire(AcquireRequest.exclusive(List.of(longest), ANN, "holder", TTL, 1)))
                .as("it waits for the worker")
                .isNotDone();
        AcquireRequest refused = AcquireRequest.exclusive(List.of(tooLong), ANN, "holder", TTL, 1);
        assertThat(List.of(readers.acquire(refused), readers.downgrade(refused, BOB)))
                .allSatisfy(reply -> assertThat(reply)
                        .isCompletedWithValueMatching(is -> is instanceof AcquireReply.Failed failed
                                && failed.kind() == FailureKind.PERMANENT
                                && String.valueOf(failed.error().getMessage()).contains("at most 1000 bytes")));
        assertThat(readers.release(new ReleaseRequest(List.of(tooLong), ANN, 0, ReleaseRequest.Kind.UNDO, 1)))
                .isCompletedWithValueMatching(reply -> reply instanceof ReleaseReply.NotOurs);
    }
}
