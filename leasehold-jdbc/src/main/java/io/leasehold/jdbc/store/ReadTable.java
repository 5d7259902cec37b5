package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.ReaderSet;
import io.leasehold.jdbc.lease.StoreTime;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The readers of one lock in the lease table: a row for each, in a numbered slot. Every change of them locks the row of the
 * lock first, reads them afterwards in a statement of its own, and writes the row of the lock. Their column {@code fence}
 * has their token, so that the search for old rows finds them.
 */
final class ReadTable {

    private static final String PREFIX = "readers" + SlotRows.SEPARATOR;

    /** The longest name, so that the names of its readers' rows fit the column. */
    private static final int MAX_NAME_BYTES = LockName.MAX_BYTES - 24;

    private final SlotRows slots;

    /** Uses the rows of the readers of this lock. */
    ReadTable(LeaseTable table, LockName name) {
        this.slots = new SlotRows(table, name, PREFIX + name.text());
    }

    /** The error for a name that is too long, or null if a table can keep its readers. */
    static @Nullable LockStoreException refusal(LockName name) {
        return name.text().getBytes(StandardCharsets.UTF_8).length <= MAX_NAME_BYTES
                ? null
                : new LockStoreException(
                        "lock \"" + name + "\": a lease table keeps readers of locks whose names have at most "
                                + MAX_NAME_BYTES + " bytes; use a shorter name",
                        null);
    }

    /** The name of the lock to which this row belongs, if it is a row of a lock or of a reader. */
    static String lockOf(String stored) {
        int end = stored.lastIndexOf(SlotRows.SEPARATOR);
        return stored.startsWith(PREFIX) && end >= PREFIX.length() ? stored.substring(PREFIX.length(), end) : stored;
    }

    /**
     * Readers as they were read.
     *
     * @param current those that hold
     * @param stored all rows that were found, ended ones included
     */
    record Found(ReaderSet current, SortedMap<Integer, Held> stored) {
        /** Whether a reader has ended, or its end was bounded because the clock went back. */
        boolean isChanged() {
            return !current.held().equals(stored);
        }
    }

    /**
     * Reads the readers.
     *
     * @param lock the row of the lock as it is stored
     * @param current the row without ended parts
     */
    Found read(@Nullable LeaseRow lock, LeaseRow current, StoreTime now, Lives lives) throws SQLException {
        int used = ReaderSet.slots(lock);
        SortedMap<Integer, Held> stored = new TreeMap<>();
        SortedMap<Integer, Held> held = new TreeMap<>();
        // One more: the slot that the next reader takes may have a row of an earlier reader.
        slots.read(used + 1, now, lives, stored, held);
        return new Found(current.isRead() ? new ReaderSet(held.headMap(used)) : ReaderSet.NONE, stored);
    }

    /** Writes the slots in which these readers differ from those found. */
    void write(ReaderSet readers, Found found, StoreTime now) throws SQLException {
        for (int slot : found.stored().keySet()) {
            if (!readers.held().containsKey(slot)) {
                slots.free(slot);
            }
        }
        for (Map.Entry<Integer, Held> reader : readers.held().entrySet()) {
            Held before = found.stored().get(reader.getKey());
            if (!reader.getValue().equals(before)) {
                slots.write(
                        reader.getKey(),
                        reader.getValue(),
                        now,
                        reader.getValue().token(),
                        before == null);
            }
        }
    }
}
