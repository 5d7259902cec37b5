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

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.SqliteDialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Readers in a file, where the death of a process is known, and waiters are woken. */
@Tag("quick")
class ReadersOfAFileTest {

    private static final LockName X = name("x").asRead();

    @TempDir
    private Path directory;

    private VerbsBench bench;
    private ReadVerbs readers;

    @BeforeEach
    void open() throws SQLException {
        bench = new VerbsBench(SqliteDialect.dialect(true), "jdbc:sqlite:" + directory.resolve("t.db"));
        readers = bench.verbs.readers();
    }

    @AfterEach
    void close() throws SQLException {
        bench.close();
    }

    private static AcquireRequest read(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(X), owner, "holder", TTL, 1);
    }

    private static AcquireRequest readWaiting(OwnerToken owner) {
        return read(owner).waiting(Duration.ofSeconds(3).toNanos());
    }

    private void granted(AcquireRequest request) throws SQLException {
        AcquireReply reply = request.name().isRead()
                ? readers.acquire(request, bench.table)
                : bench.verbs.acquire(request, bench.table);
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
    }

    private void queued(AcquireRequest request) throws SQLException {
        AcquireReply reply = request.name().isRead()
                ? readers.acquire(request, bench.table)
                : bench.verbs.acquire(request, bench.table);
        assertThat(reply).isInstanceOf(AcquireReply.Queued.class);
    }

    private void release(OwnerToken owner) throws SQLException {
        readers.release(new ReleaseRequest(List.of(X), owner, 0, ReleaseRequest.Kind.RELEASE, 1), bench.table);
    }

    private void readBy(OwnerToken owner, String life) throws SQLException {
        granted(read(owner));
        bench.execute("UPDATE leasehold_lock SET life = '" + life + "' WHERE owner = '" + owner.hex() + "'");
    }

    @Test
    void aReaderIsBoundToTheLifeOfItsProcess() throws SQLException {
        granted(read(ANN));
        assertThat(bench.table.lives()).containsExactly("own life");
    }

    @Test
    void aLockWhoseReadersAreDeadIsFreeAtOnce() throws SQLException {
        readBy(ANN, "one");
        readBy(BOB, "two");
        bench.states.put("one", Lives.State.OVER);
        assertThat(bench.verbs.acquire(request(CAT, "x"), bench.table)).isInstanceOf(AcquireReply.Busy.class);
        assertThat(readers.list(X, 10, bench.table)).hasSize(1);
        RenewReply renewed =
                readers.renew(X, new RenewBatch(List.of(new RenewBatch.Item(X, ANN, TTL)), 1_000), bench.table, 1, 0);
        assertThat(renewed.items().get(0)).isInstanceOf(RenewReply.NotOurs.class);
        bench.states.put("two", Lives.State.OVER);
        LeaseRow stored = bench.read("x");
        assertThat(ReadVerbs.current(
                                stored,
                                bench.table,
                                bench.settings,
                                bench.settings.clock().read(bench.table))
                        .held())
                .isNull();
        granted(request(CAT, "x"));
        assertThat(bench.table.lives()).as("nothing names the dead").containsExactly("own life");
    }

    @Test
    void aWriterIsWokenByTheDeathOfTheLastReader() throws SQLException {
        readBy(ANN, "one");
        readBy(BOB, "two");
        queued(waiting(CAT, "x"));
        assertThat(bench.wokenByALook()).isEmpty();
        bench.goOn(Duration.ofMillis(30));
        bench.states.put("one", Lives.State.OVER);
        assertThat(bench.wokenByALook()).isEmpty();
        bench.goOn(Duration.ofMillis(30));
        bench.states.put("two", Lives.State.OVER);
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
    }

    @Test
    void theLastReaderWakesAWriterAndAWriterWakesReaders() throws SQLException {
        granted(read(ANN));
        granted(read(BOB));
        queued(waiting(CAT, "x"));
        release(ANN);
        assertThat(bench.wokenByALook()).isEmpty();
        release(BOB);
        assertThat(bench.wokenByALook()).containsExactly(name("x"));
        granted(waiting(CAT, "x"));
        queued(readWaiting(ANN));
        queued(readWaiting(BOB));
        bench.goOn(Duration.ofMillis(30));
        bench.verbs.release(ending(CAT, 0, "x"), bench.table);
        assertThat(bench.wokenByALook()).containsExactly(X, X);
        granted(readWaiting(BOB));
        granted(readWaiting(ANN));
    }

    @Test
    void aDowngradeWakesReaders() throws SQLException {
        granted(request(ANN, "x"));
        queued(readWaiting(BOB));
        assertThat(bench.wokenByALook()).isEmpty();
        assertThat(readers.downgrade(read(CAT), ANN, bench.table)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(bench.wokenByALook()).containsExactly(X);
        granted(readWaiting(BOB));
    }

    @Test
    void aWriterThatGivesUpWakesReadersAndSoDoesTheEndOfItsNote() throws SQLException {
        granted(read(ANN));
        queued(waiting(BOB, "x"));
        queued(readWaiting(CAT));
        assertThat(bench.wokenByALook()).isEmpty();
        bench.verbs.release(ending(BOB, 0, "x"), bench.table);
        assertThat(bench.wokenByALook()).containsExactly(X);
        queued(waiting(BOB, "x"));
        queued(readWaiting(CAT).waiting(Duration.ofMinutes(1).toNanos()));
        assertThat(bench.wokenByALook()).isEmpty();
        bench.goOn(Duration.ofSeconds(7));
        assertThat(bench.wokenByALook()).contains(X);
    }

    /** For readers, as for a writer: the lock is kept for the waiter for as long as a woken one needs. */
    @Test
    void aFreeLockIsKeptForTheWriterForAMoment() throws SQLException {
        granted(read(ANN));
        queued(waiting(BOB, "x"));
        bench.goOn(Duration.ofMillis(20));
        release(ANN);
        assertThat(readers.acquire(read(CAT), bench.table)).isInstanceOf(AcquireReply.Busy.class);
        bench.goOn(Duration.ofMillis(50));
        granted(read(CAT));
    }
}
