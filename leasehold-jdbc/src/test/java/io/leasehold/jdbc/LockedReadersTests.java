package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.StaleTokenException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Transactions of readers and writers of one row at the same time, on databases that lock rows. */
interface LockedReadersTests extends FencingReadersTests {

    private static long amount(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT amount FROM fenced WHERE id = 1")) {
            row.next();
            return row.getLong(1);
        }
    }

    private void writerAndReaderWereHere() throws SQLException {
        try (Connection connection = transaction()) {
            ROWS.admit(connection, 1L, 5).orElseThrow();
            ROWS.admit(connection, 1L, 9, Access.READ).orElseThrow();
            connection.commit();
        }
    }

    /** Neither the newest reader's repeated admission nor an older reader's changes a token. */
    @Test
    default void aReaderThatChangesNothingLocksTheRowUntilTheEndOfItsTransaction() throws SQLException {
        writerAndReaderWereHere();
        try (Connection one = transaction();
                Connection two = transaction()) {
            for (long token : new long[] {7, 9}) {
                ROWS.admit(one, 1L, token, Access.READ).orElseThrow();
                assertThat(RowLocks.in(two).tryLock("fenced", "id", 1L)).isNotEqualTo(RowLock.LOCKED);
                two.rollback();
                one.commit();
                assertThat(RowLocks.in(two).tryLock("fenced", "id", 1L)).isEqualTo(RowLock.LOCKED);
                two.rollback();
            }
        }
    }

    @Test
    default void aWriterWaitsForAReadersTransaction() throws Exception {
        writerAndReaderWereHere();
        try (Connection reader = transaction()) {
            ROWS.admit(reader, 1L, 7, Access.READ).orElseThrow();
            long before = amount(reader);
            CompletableFuture<Admission> writer = CompletableFuture.supplyAsync(() -> {
                try (Connection connection = transaction()) {
                    Admission admission = ROWS.admit(connection, 1L, 10);
                    FencingReadersTests.update(connection, "UPDATE fenced SET amount = 100 WHERE id = 1");
                    connection.commit();
                    return admission;
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            assertThat(writer).as("the row is the reader's").isNotDone();
            assertThat(amount(reader)).isEqualTo(before);
            reader.commit();
            assertThat(writer.get().isAdmitted()).isTrue();
            assertThat(ROWS.admit(reader, 1L, 9, Access.READ)).isEqualTo(new Admission.Rejected("fenced 1", 9, 10));
            reader.rollback();
        }
    }

    /** A decision by what was true before the wait would admit the late writer. */
    @Test
    default void aLateWriterThatWaitsForANewerReaderIsRefused() throws Exception {
        writerAndReaderWereHere();
        try (Connection reader = transaction()) {
            ROWS.admit(reader, 1L, 12, Access.READ).orElseThrow();
            CompletableFuture<Admission> writer = CompletableFuture.supplyAsync(() -> {
                try (Connection connection = transaction()) {
                    Admission admission = ROWS.admit(connection, 1L, 11);
                    connection.rollback();
                    return admission;
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
            reader.commit();
            assertThat(writer.get()).isEqualTo(new Admission.Rejected("fenced 1", 11, 12));
        }
    }

    /**
     * Holders whose leases end at any moment: a reader that is admitted twice sees one amount, and no admitted update is
     * lost.
     */
    @Test
    default void twoReadsOfOneReaderAgreeAndNoUpdateIsLost() throws Exception {
        AtomicLong tokens = new AtomicLong();
        AtomicLong written = new AtomicLong();
        AtomicLong readTwice = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        List<CompletableFuture<Void>> runs = new ArrayList<>();
        for (int holder = 0; holder < 4; holder++) {
            Access access = holder < 2 ? Access.READ : Access.WRITE;
            runs.add(CompletableFuture.runAsync(() -> {
                try (Connection connection = transaction()) {
                    for (int turn = 0; turn < 50; turn++) {
                        long token = tokens.incrementAndGet();
                        try {
                            ROWS.admit(connection, 1L, token, access).orElseThrow();
                            long first = amount(connection);
                            connection.commit();
                            LockSupport.parkNanos(100_000);
                            ROWS.admit(connection, 1L, token, access).orElseThrow();
                            if (access == Access.WRITE) {
                                FencingReadersTests.update(
                                        connection, "UPDATE fenced SET amount = " + (first + 1) + " WHERE id = 1");
                            } else {
                                assertThat(amount(connection)).isEqualTo(first);
                            }
                            connection.commit();
                            (access == Access.WRITE ? written : readTwice).incrementAndGet();
                        } catch (StaleTokenException late) {
                            connection.rollback();
                            refused.incrementAndGet();
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
        assertThat(written.get() + readTwice.get() + refused.get()).isEqualTo(200);
        assertThat(readTwice).as("readers were admitted").hasPositiveValue();
        try (Connection connection = connect()) {
            assertThat(amount(connection)).isEqualTo(written.get());
        }
    }
}
