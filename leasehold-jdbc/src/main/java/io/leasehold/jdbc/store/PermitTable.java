package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.PermitSet;
import io.leasehold.jdbc.lease.StoreTime;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
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

    private static final String SEPARATOR = "\u001f";
    private static final String PREFIX = "permits" + SEPARATOR;
    /** The longest name, so that the names of its rows fit the column. */
    private static final int MAX_NAME_BYTES = LockName.MAX_BYTES - 24;

    private static final long NO_LOCK = -1;

    private final LeaseTable table;
    private final Dialect.Leases statements;
    private final LockName name;
    private final String header;

    /** Uses the rows of these permits; {@link #refusal} has refused names that are too long. */
    PermitTable(LeaseTable table, Dialect dialect, LockName name) {
        this.table = table;
        this.statements = dialect.leases();
        this.name = name;
        this.header = PREFIX + name.text();
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

    private String rowOf(int slot) {
        return header + SEPARATOR + slot;
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
            readSlots(most, now, lives, stored, held);
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

    private void readSlots(
            int most, StoreTime now, Lives lives, SortedMap<Integer, Held> stored, SortedMap<Integer, Held> held)
            throws SQLException {
        String places = String.join(", ", Collections.nCopies(most, "?"));
        String life = statements.lives() == null ? "" : ", life";
        PreparedStatement query = table.prepared("SELECT name, origin, owner, holder, expires_at, ttl, token" + life
                + " FROM leasehold_lock WHERE name IN (" + places + ")");
        for (int slot = 0; slot < most; slot++) {
            query.setString(slot + 1, rowOf(slot));
        }
        try (ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                int slot = Integer.parseInt(rows.getString(1).substring(header.length() + 1));
                Held hold = new Held(
                        RowColumns.token(rows.getString(3)),
                        RowColumns.holder(rows.getString(4)),
                        rows.getLong(5),
                        rows.getLong(6),
                        rows.getLong(7),
                        life.isEmpty() ? null : rows.getString(8));
                stored.put(slot, hold);
                Held current = lives.asOf(new LeaseRow(name, rows.getString(2), hold, null, 0, 0), now)
                        .held();
                if (current != null) {
                    held.put(slot, current);
                }
            }
        }
    }

    /** Writes the header. */
    void write(PermitSet set, Locked locked) throws SQLException {
        table.fenceWritten(set.fence());
        List<@Nullable Object> values = new ArrayList<>();
        values.add(locked.now().origin());
        values.add(null);
        values.add(set.count() + " " + set.version() + " " + set.most());
        addRest(values, 0, 0, set.fence(), locked.now(), null);
        store(header, values, locked.absent());
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
        List<@Nullable Object> values = new ArrayList<>();
        values.add(locked.now().origin());
        values.add(hold.owner().hex());
        values.add(hold.holderId());
        addRest(values, hold.expiresAtNanos(), hold.ttlNanos(), hold.token(), locked.now(), hold.life());
        store(rowOf(slot), values, !locked.stored().containsKey(slot));
    }

    private void addRest(
            List<@Nullable Object> values, long expires, long ttl, long token, StoreTime now, @Nullable String life) {
        values.add(expires);
        values.add(ttl);
        values.add(token);
        values.add(null);
        values.add(0L);
        values.add(now.nanos());
        values.add(NO_LOCK);
        if (statements.lives() != null) {
            values.add(life);
        }
    }

    private void store(String row, List<@Nullable Object> values, boolean isNew) throws SQLException {
        values.add(isNew ? 0 : values.size(), row);
        table.with(isNew ? statements.insert() : statements.update(), values.toArray())
                .executeUpdate();
    }

    /** Deletes the row of a slot. */
    void free(int slot) throws SQLException {
        table.with(statements.delete(), rowOf(slot)).executeUpdate();
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
