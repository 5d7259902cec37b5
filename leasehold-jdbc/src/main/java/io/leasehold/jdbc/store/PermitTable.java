package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.PermitSet;
import io.leasehold.jdbc.lease.StoreTime;
import java.nio.charset.StandardCharsets;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The permits in the lease table. A name has a header row, which every change of its permits locks first and writes, and
 * a row for each slot that is held. The names of these rows have a control character, so that they are no names of
 * locks. Their column {@code fence} is −1: the search for old rows does not find them.
 *
 * <p>The header keeps {@code "<count> <version> <most>"} as its holder, and the fence as its token.
 */
final class PermitTable {

    private static final String SEPARATOR = SlotRows.SEPARATOR;
    private static final String PREFIX = "permits" + SEPARATOR;
    /** The longest name, so that the names of its rows fit the column. */
    private static final int MAX_NAME_BYTES = LockName.MAX_BYTES - 24;

    private static final long NO_LOCK = -1;

    private final LeaseTable table;
    private final Dialect.Leases statements;
    private final LockName name;
    private final String header;
    private final SlotRows slots;

    /** Uses the rows of these permits; {@link #refusal} has refused names that are too long. */
    PermitTable(LeaseTable table, Dialect dialect, LockName name) {
        this.table = table;
        this.statements = dialect.leases();
        this.name = name;
        this.header = PREFIX + name.text();
        this.slots = new SlotRows(table, name, header);
    }

    /** The error for a name that is too long, or null if a table can keep these permits. */
    static @Nullable LockStoreException refusal(LockName name) {
        return name.text().getBytes(StandardCharsets.UTF_8).length <= MAX_NAME_BYTES
                ? null
                : new LockStoreException(
                        "permits \"" + name + "\": a lease table keeps permits whose names have at most "
                                + MAX_NAME_BYTES + " bytes; use a shorter name",
                        null);
    }

    /** The text that stands for this lock or these permits in messages between clients. */
    static String word(LockName name) {
        return name.isPermits() ? PREFIX + name.text() : name.text();
    }

    /**
     * The name for which this text stands.
     *
     * @throws IllegalArgumentException if it stands for none
     */
    static LockName named(String word) {
        return word.startsWith(PREFIX)
                ? LockName.exactly(word.substring(PREFIX.length())).asPermits()
                : LockName.exactly(word);
    }

    /** The header as it is stored. */
    private record Header(String origin, String counts, long fence) {}

    /**
     * The permits under the lock of their header.
     *
     * @param absent whether they have no header yet
     * @param stored the holds as they are stored, ended ones included
     */
    record Locked(PermitSet set, StoreTime now, boolean absent, SortedMap<Integer, Held> stored) {}

    /**
     * Locks the header, and then reads the slots: no other transaction changes them before this one ends.
     *
     * @throws RowLockedException if another transaction has locked the header, and this one must not wait for it
     */
    Locked lock(StoreClock clock, Lives lives) throws SQLException {
        Header found = header(table.isPatient() ? statements.find() : statements.findUnlessLocked());
        if (found == null && !table.isPatient() && header(statements.read()) != null) {
            throw new RowLockedException("the row of permits " + name);
        }
        return current(found, clock.read(table), lives);
    }

    /** The last committed state. */
    Locked read(StoreClock clock, Lives lives) throws SQLException {
        return current(header(statements.read()), clock.read(table), lives);
    }

    private Locked current(@Nullable Header found, StoreTime now, Lives lives) throws SQLException {
        if (found == null) {
            return new Locked(PermitSet.absent(table.fenceFloor()), now, true, new TreeMap<>());
        }
        String[] counts = found.counts().split(" ", 3);
        int most = Integer.parseInt(counts[2]);
        SortedMap<Integer, Held> stored = new TreeMap<>();
        SortedMap<Integer, Held> held = new TreeMap<>();
        if (most > 0) {
            slots.read(most, now, lives, stored, held);
        }
        // A row of an earlier boot may be older than the last commit: a loss of power may have happened in between.
        long fence = found.origin().equals(now.origin()) ? found.fence() : Math.max(found.fence(), table.fenceFloor());
        PermitSet set = new PermitSet(Integer.parseInt(counts[0]), Long.parseLong(counts[1]), most, fence, held);
        return new Locked(set, now, false, stored);
    }

    private @Nullable Header header(String query) throws SQLException {
        try (ResultSet row = table.with(query, header).executeQuery()) {
            return row.next() && row.getString(1) != null
                    ? new Header(row.getString(2), row.getString(4), row.getLong(7))
                    : null;
        }
    }

    /** Writes the header. */
    void write(PermitSet set, Locked locked) throws SQLException {
        table.fenceWritten(set.fence());
        String counts = set.count() + " " + set.version() + " " + set.most();
        slots.write(
                header,
                new SlotRows.Row(null, counts, 0, 0, set.fence(), NO_LOCK, null),
                locked.now(),
                locked.absent());
    }

    /**
     * Writes the ends that were bounded because the clock went back: bounded anew at each reading, they would never
     * come.
     */
    void writeBounded(Locked locked) throws SQLException {
        boolean bounded = false;
        for (Map.Entry<Integer, Held> slot : locked.set().held().entrySet()) {
            Held stored = locked.stored().get(slot.getKey());
            Held held = slot.getValue();
            if (stored != null && stored.expiresAtNanos() != held.expiresAtNanos()) {
                write(slot.getKey(), held, locked);
                bounded = true;
            }
        }
        if (bounded) {
            write(locked.set(), locked);
        }
    }

    /** Writes the hold of a slot. */
    void write(int slot, Held hold, Locked locked) throws SQLException {
        slots.write(slot, hold, locked.now(), NO_LOCK, !locked.stored().containsKey(slot));
    }

    /** Deletes the row of a slot. */
    void free(int slot) throws SQLException {
        slots.free(slot);
    }

    /** The names of all permits of which a slot is held or was left to expire, in the database's order. */
    static List<LockName> names(LeaseTable table, Dialect dialect) throws SQLException {
        Set<LockName> found = new LinkedHashSet<>();
        try (ResultSet rows = table.prepared(dialect.leases().held()).executeQuery()) {
            while (rows.next()) {
                String row = rows.getString(1);
                int end = row.lastIndexOf(SEPARATOR);
                if (row.startsWith(PREFIX) && end >= PREFIX.length()) {
                    found.add(LockName.exactly(row.substring(PREFIX.length(), end))
                            .asPermits());
                }
            }
        }
        return List.copyOf(found);
    }
}
