package io.leasehold.jdbc.lease;

import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.spi.OwnerToken;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The readers that hold one lock, each in a numbered slot with an end of its own. The row of the lock has the hold that
 * stands for all of them. Pure.
 *
 * <p>The slots are those below a number that the row of the lock keeps: each of them was written since readers hold the
 * lock. Slots from that number on may be left from earlier readers, and mean nothing.
 */
public record ReaderSet(SortedMap<Integer, Held> held) {

    /** No reader. */
    public static final ReaderSet NONE = new ReaderSet(new TreeMap<>());

    private static final String TEXT = "readers ";

    /** Copies the holds. */
    public ReaderSet {
        held = new TreeMap<>(held);
    }

    /** The number of slots that this row of a lock, as it is stored, has for readers. */
    public static int slots(@Nullable LeaseRow stored) {
        Held readers = stored != null && stored.isRead() ? stored.held() : null;
        return readers == null ? 0 : Integer.parseInt(readers.holderId().substring(TEXT.length()));
    }

    /** Whether this owner token is a reader. */
    public boolean has(OwnerToken owner) {
        return slotOf(owner).isPresent();
    }

    private OptionalInt slotOf(OwnerToken owner) {
        return held.entrySet().stream()
                .filter(slot -> slot.getValue().owner().equals(owner))
                .mapToInt(slot -> slot.getKey())
                .findFirst();
    }

    /** The hold of this owner token, or null. */
    @Nullable
    Held of(OwnerToken owner) {
        OptionalInt slot = slotOf(owner);
        return slot.isPresent() ? held.get(slot.getAsInt()) : null;
    }

    /** The readers with this hold: in the slot of its owner token, or else in the lowest free one. */
    ReaderSet with(Held hold) {
        int free = 0;
        while (held.containsKey(free)) {
            free++;
        }
        SortedMap<Integer, Held> all = new TreeMap<>(held);
        all.put(slotOf(hold.owner()).orElse(free), hold);
        return new ReaderSet(all);
    }

    /** The readers whose holds are not meant. */
    ReaderSet without(Predicate<Held> meant) {
        SortedMap<Integer, Held> left = new TreeMap<>(held);
        left.values().removeIf(meant);
        return new ReaderSet(left);
    }

    /** The hold that stands for all readers: it ends when the last of them does. Null if there are none. */
    @Nullable
    Held together() {
        if (held.isEmpty()) {
            return null;
        }
        long ends = Long.MIN_VALUE;
        long ttl = 0;
        long token = 0;
        for (Held reader : held.values()) {
            ends = Math.max(ends, reader.expiresAtNanos());
            ttl = Math.max(ttl, reader.ttlNanos());
            token = Math.max(token, reader.token());
        }
        return new Held(LeaseRow.READERS, TEXT + (held.lastKey() + 1), ends, ttl, token, null);
    }

    /** The row of the lock, which readers held until now, as these readers hold it. */
    public LeaseRow in(LeaseRow row, StoreTime now) {
        Held together = together();
        return together == null ? row.freedAt(now.nanos()) : row.with(together, row.waiter(), row.fence());
    }
}
