package io.leasehold.jdbc.store;

import io.leasehold.LockName;
import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.StoreTime;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * The rows of numbered slots of one name, each with a hold. Their names have a control character, so that they are no names
 * of locks. The caller has locked the row on which all changes of the slots depend.
 */
final class SlotRows {

    static final String SEPARATOR = "\u001f";

    /** The largest number of slots that one statement reads. */
    private static final int MOST_AT_ONCE = 256;

    private final LeaseTable table;
    private final Dialect.Leases statements;
    private final LockName name;
    private final String prefix;

    /**
     * Uses the rows whose names begin with this prefix.
     *
     * @param name the lock or permits to which they belong
     */
    SlotRows(LeaseTable table, LockName name, String prefix) {
        this.table = table;
        this.statements = table.dialect().leases();
        this.name = name;
        this.prefix = prefix + SEPARATOR;
    }

    /** The columns of a row that belongs to a name, without name, origin and time. */
    record Row(
            @Nullable String owner,
            String holder,
            long expiresAtNanos,
            long ttlNanos,
            long token,
            long fence,
            @Nullable String life) {}

    /**
     * Reads the slots below a number.
     *
     * @param stored receives the holds as they are stored, ended ones included
     * @param held receives the holds that have not ended
     */
    void read(int most, StoreTime now, Lives lives, SortedMap<Integer, Held> stored, SortedMap<Integer, Held> held)
            throws SQLException {
        for (int from = 0; from < most; from += MOST_AT_ONCE) {
            read(from, Math.min(MOST_AT_ONCE, most - from), now, lives, stored, held);
        }
    }

    private void read(
            int from,
            int count,
            StoreTime now,
            Lives lives,
            SortedMap<Integer, Held> stored,
            SortedMap<Integer, Held> held)
            throws SQLException {
        // Few texts: the connection keeps a statement for each. The last slot is named several times.
        int places = Math.max(1, Integer.highestOneBit(2 * count - 1));
        String life = statements.lives() == null ? "" : ", life";
        PreparedStatement query = table.prepared("SELECT name, origin, owner, holder, expires_at, ttl, token" + life
                + " FROM leasehold_lock WHERE name IN (" + String.join(", ", Collections.nCopies(places, "?")) + ")");
        for (int place = 0; place < places; place++) {
            query.setString(place + 1, prefix + (from + Math.min(place, count - 1)));
        }
        try (ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                int slot = Integer.parseInt(rows.getString(1).substring(prefix.length()));
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

    /** Writes the hold of a slot; one that is not new, but was deleted meanwhile as an ended one, is made again. */
    void write(int slot, Held hold, StoreTime now, long fence, boolean isNew) throws SQLException {
        Row row = new Row(
                hold.owner().hex(),
                hold.holderId(),
                hold.expiresAtNanos(),
                hold.ttlNanos(),
                hold.token(),
                fence,
                hold.life());
        write(prefix + slot, row, now, isNew);
    }

    /** Writes any row that belongs to the name. */
    void write(String stored, Row row, StoreTime now, boolean isNew) throws SQLException {
        List<@Nullable Object> values = new ArrayList<>();
        values.add(now.origin());
        values.add(row.owner());
        values.add(row.holder());
        values.add(row.expiresAtNanos());
        values.add(row.ttlNanos());
        values.add(row.token());
        values.add(null);
        values.add(0L);
        values.add(now.nanos());
        values.add(row.fence());
        if (statements.lives() != null) {
            values.add(row.life());
        }
        if (!isNew) {
            values.add(stored);
            if (table.with(statements.update(), values.toArray()).executeUpdate() > 0) {
                return;
            }
            values.remove(values.size() - 1);
        }
        values.add(0, stored);
        table.with(statements.insert(), values.toArray()).executeUpdate();
    }

    /** Deletes the row of a slot. */
    void free(int slot) throws SQLException {
        table.with(statements.delete(), prefix + slot).executeUpdate();
    }
}
