package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRules;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.spi.LockRuntime;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The rows of locks in a transaction: locks them, stores what changed, and deletes old ones. Used by the worker's thread
 * alone.
 */
final class TableRows {

    /**
     * The number of rows that were created, or granted in one statement that may have created them, between two
     * searches for rows to delete.
     */
    private static final int ROWS_BETWEEN_PRUNES = 64;

    /** The time that creating a row may take at least, even if rows are kept for less than twice that, as in tests. */
    private static final long MIN_TIME_TO_MAKE_NANOS = 100_000_000L;

    private final LockRuntime runtime;
    private final StoreClock clock;
    private final Lives lives;
    private final Duration retention;
    private final Runnable pruneSoon;
    private int rowsMade;
    private long prunedTo = -1;

    /**
     * Uses the rows of a table.
     *
     * @param pruneSoon lets the worker call {@link #prune} soon
     */
    TableRows(StoreSettings settings, LockRuntime runtime, Runnable pruneSoon) {
        this.runtime = runtime;
        this.clock = settings.clock();
        this.lives = settings.lives();
        this.retention = settings.retention();
        this.pruneSoon = pruneSoon;
    }

    /**
     * Rows that no other transaction can write before this one ends.
     *
     * @param rows without parts that have ended by time or death
     * @param stored the rows as they were found
     * @param absent the names that have no row yet
     * @param now not before the last row was locked
     */
    record Locked(List<LeaseRow> rows, List<@Nullable LeaseRow> stored, Set<LockName> absent, StoreTime now) {
        /** The same with another current row of one lock. */
        Locked with(LeaseRow row) {
            return new Locked(List.of(row), stored, absent, now);
        }
    }

    Locked lock(List<LockName> names, LeaseTable table) throws SQLException {
        long askedAtNanos = runtime.nanoTime();
        List<@Nullable LeaseRow> found = new ArrayList<>(names.size());
        Set<LockName> absent = new HashSet<>();
        for (LockName name : names) {
            LeaseRow row = table.find(name);
            found.add(row);
            if (row == null) {
                absent.add(name);
            }
        }
        StoreTime now = clock.readBehindRows(table, askedAtNanos);
        // Read after the rows: a client that deletes a row raises the floor in the same transaction.
        long floor = absent.isEmpty() ? 0 : table.fenceFloor();
        List<LeaseRow> rows = new ArrayList<>(names.size());
        for (int i = 0; i < found.size(); i++) {
            LeaseRow stored = found.get(i);
            rows.add(stored == null ? LeaseRow.absent(names.get(i), now, floor) : current(stored, table, now));
        }
        return new Locked(rows, found, absent, now);
    }

    private LeaseRow current(LeaseRow stored, LeaseTable table, StoreTime now) throws SQLException {
        LeaseRow row = lives.asOf(stored, now);
        LeaseRow.Held held = row.held();
        LeaseRow.Held before = stored.held();
        if (held == null && LeaseRules.asOf(stored, now).held() != null) {
            // Its holder is dead. Written whatever the decision: the lock is kept for a waiter from now on, and not
            // from each later check on.
            table.update(row);
        } else if (held != null && before != null && held.expiresAtNanos() != before.expiresAtNanos()) {
            // The clock went back. Written whatever is decided, for the same reason.
            table.extend(row.name(), held);
        }
        // A row of an earlier boot may be older than the last commit: a loss of power may have happened in between.
        return stored.origin().equals(now.origin()) ? row : row.withFenceAbove(table.fenceFloor());
    }

    /** Writes the row, or creates it. */
    void store(LeaseRow row, Locked locked, LeaseTable table) throws SQLException {
        if (!locked.absent().contains(row.name())) {
            table.update(row);
            return;
        }
        table.insert(row);
        // A missing row cannot be locked: another one of this name may have been created and deleted since time and
        // floor were read. No row is deleted before the retention is over, so a reading of the time that is younger
        // than that is above all tokens of that row.
        if (runtime.nanoTime() - locked.now().readAtNanos()
                >= Math.max(retention.toNanos() / 2, MIN_TIME_TO_MAKE_NANOS)) {
            throw RowLockedException.madeTooSlowly("the row of " + row.name());
        }
        rowMayBeNew();
    }

    void rowMayBeNew() {
        if (rowsMade++ % ROWS_BETWEEN_PRUNES == 0) {
            pruneSoon.run();
        }
    }

    /**
     * Deletes a few rows of locks, and of readers that have ended, that were not used for the retention, and keeps their
     * fences in the floor. Deletes only rows
     * that it has locked and that have not changed since they were read: another client may be acquiring the lock.
     */
    void prune(LeaseTable table) throws SQLException {
        // One client at a time is enough; the others do not wait.
        long floorBefore = table.lockFenceFloor();
        StoreTime now = clock.read(table);
        long floor = floorBefore;
        List<LeaseTable.Idle> idle = table.between(prunedTo, now.wallMicros() - retention.toNanos() / 1000);
        for (LeaseTable.Idle one : idle) {
            LeaseRow row = one.row();
            if (lives.asOf(row, now).held() == null && row.equals(table.findUnlessLocked(row.name(), one.stored()))) {
                floor = Math.max(floor, row.fence());
                table.delete(one.stored());
            }
        }
        if (floor > floorBefore) {
            table.raiseFenceFloor(floor);
        }
        if (idle.size() < Dialect.Leases.IDLE_ROWS) {
            prunedTo = -1;
        } else {
            // Rows that are left because they are held or locked must not hide the rows behind them.
            prunedTo = idle.get(idle.size() - 1).row().fence();
            pruneSoon.run();
        }
    }
}
