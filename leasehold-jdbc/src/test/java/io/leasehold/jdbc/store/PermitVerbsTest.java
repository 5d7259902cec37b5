package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.BOB;
import static io.leasehold.jdbc.store.VerbsBench.TTL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.jdbc.dialect.H2Dialect;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The verbs on permits when the clock goes back, another transaction locks rows, and names are unknown or too long. */
@Tag("quick")
class PermitVerbsTest {

    private static final LockName POOL = LockName.exactly("pool").asPermits(1);

    private final String url = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private VerbsBench bench;
    private PermitVerbs verbs;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(H2Dialect.dialect(), url);
        verbs = new PermitVerbs(bench.settings, bench.runtime);
    }

    @AfterEach
    void close() throws SQLException {
        bench.execute("SHUTDOWN");
        bench.close();
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "holder", TTL, 1);
    }

    private AcquireReply acquire(OwnerToken owner) throws SQLException {
        return verbs.acquire(request(POOL, owner), bench.table);
    }

    private RenewReply renew(OwnerToken owner, int tries, long begunAtNanos) throws SQLException {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(POOL, owner, TTL)), 1_000);
        return verbs.renew(POOL, batch, bench.table, tries, begunAtNanos);
    }

    private ReleaseReply release(LockName name, OwnerToken owner, long ballot) throws SQLException {
        return verbs.release(
                new ReleaseRequest(List.of(name), owner, ballot, ReleaseRequest.Kind.UNDO, 1), bench.table);
    }

    private long number(String query) throws SQLException {
        try (Statement statement = bench.connection.createStatement();
                ResultSet result = statement.executeQuery(query)) {
            result.next();
            return result.getLong(1);
        }
    }

    private long end() throws SQLException {
        return number("SELECT expires_at FROM leasehold_lock WHERE owner IS NOT NULL");
    }

    @Test
    void aSlotIsFreeATtlAfterTheClockWentBackWhateverIsAskedInBetween() throws SQLException {
        assertThat(acquire(ANN)).isInstanceOf(AcquireReply.Granted.class);
        bench.goOn(Duration.ofHours(-5));
        assertThat(acquire(BOB)).isInstanceOf(AcquireReply.Busy.class);
        assertThat(end()).as("the bounded end is stored").isEqualTo(bench.nowNanos + TTL);
        bench.goOn(Duration.ofNanos(TTL));
        assertThat(acquire(BOB)).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aRenewalStoresTheEndThatItPromisesAfterTheClockWentBack() throws SQLException {
        acquire(ANN);
        bench.goOn(Duration.ofHours(-5));
        assertThat(renew(ANN, 1, bench.nowNanos).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(end()).isEqualTo(bench.nowNanos + TTL);
    }

    private long token(OwnerToken owner) throws SQLException {
        long token = ((AcquireReply.Granted) acquire(owner)).grant().tokens().first();
        release(POOL, owner, token);
        return token;
    }

    /** After a loss of power, the header may lack the last grants; their tokens are below the floor of the store. */
    @Test
    void aHeaderOfAnEarlierBootHasTheLargerOneOfItsFenceAndTheFloor() throws SQLException {
        long first = token(ANN);
        long floor = first + Duration.ofHours(1).toNanos() / 1_000;
        bench.execute("UPDATE leasehold_store SET fence_floor = " + floor);
        bench.execute("UPDATE leasehold_lock SET origin = 'an earlier boot' WHERE owner IS NULL");
        assertThat(token(BOB)).isEqualTo(floor + 1);
        bench.execute("UPDATE leasehold_store SET fence_floor = " + first);
        bench.execute("UPDATE leasehold_lock SET origin = 'an earlier boot' WHERE owner IS NULL");
        assertThat(token(ANN)).as("the header is ahead of the floor").isEqualTo(floor + 2);
    }

    @Test
    void aLockedHeaderIsReportedAfterAPartOfTheTimeLimit() throws SQLException {
        acquire(ANN);
        try (Connection other = DriverManager.getConnection(url);
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT * FROM leasehold_lock WHERE owner IS NULL FOR UPDATE")
                    .close();
            long now = bench.runtime.nanoTime();
            bench.table.begin(0);
            assertThatThrownBy(() -> renew(ANN, 2, now - 250)).isInstanceOf(RowLockedException.class);
            assertThatThrownBy(() -> renew(ANN, 3, now - 249)).isInstanceOf(RowLockedException.class);
            assertThat(renew(ANN, 3, now - 250).items().get(0))
                    .isInstanceOfSatisfying(
                            RenewReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .hasMessageContainingAll("pool", "store X", "another transaction keeps their row"));
            bench.table.rollback();
            other.rollback();
        }
        assertThat(renew(ANN, 1, 0).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void theEndOfAnUnknownAttemptLeavesNoRow() throws SQLException {
        assertThat(release(POOL, ANN, 0)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(number("SELECT COUNT(*) FROM leasehold_lock")).isZero();
        long ballot = bench.micros() + 1_000;
        assertThat(release(POOL, ANN, ballot)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(number("SELECT COUNT(*) FROM leasehold_lock")).isZero();
        assertThat(acquire(BOB))
                .as("its ballot counts all the same")
                .isInstanceOfSatisfying(
                        AcquireReply.Granted.class,
                        granted -> assertThat(granted.grant().tokens().first()).isGreaterThan(ballot));
        long floor = bench.table.fenceFloor();
        release(LockName.exactly("other").asPermits(1), ANN, ballot - 1);
        assertThat(bench.table.fenceFloor()).isEqualTo(floor).isEqualTo(ballot);
    }

    @Test
    void aNameThatIsTooLongIsRefusedBeforeTheDatabaseIsAsked() {
        LockName longest = LockName.exactly("n".repeat(1_000)).asPermits(1);
        LockName tooLong = LockName.exactly("n".repeat(1_001)).asPermits(1);
        assertThat(PermitTable.refusal(longest)).isNull();
        TablePermits permits = new TablePermits(
                bench.settings,
                new WorkQueue(bench.runtime, "store X"),
                bench.runtime,
                (name, held) -> CompletableFuture.completedFuture(null));
        assertThat(permits.acquire(request(longest, ANN)))
                .as("it waits for the worker")
                .isNotDone();
        assertThat(permits.acquire(request(tooLong, ANN)))
                .isCompletedWithValueMatching(reply -> reply instanceof AcquireReply.Failed failed
                        && failed.kind() == FailureKind.PERMANENT
                        && String.valueOf(failed.error().getMessage()).contains("at most 1000 bytes"));
        assertThat(permits.release(new ReleaseRequest(List.of(tooLong), ANN, 0, ReleaseRequest.Kind.UNDO, 1)))
                .isCompletedWithValueMatching(reply -> reply instanceof ReleaseReply.NotOurs);
        assertThat(permits.describe(tooLong)).isCompletedWithValueMatching(found -> found.isEmpty());
        assertThat(permits.forceRelease(tooLong, 0, null)).isCompletedWithValue(false);
        assertThat(permits.change(tooLong, 1, 0))
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCauseInstanceOf(LockStoreException.class);
    }
}
