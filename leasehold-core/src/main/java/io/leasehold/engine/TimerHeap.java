package io.leasehold.engine;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Entries in the order of their times: a binary heap in which each entry knows its place, so that it is moved and
 * removed without a search. Not thread-safe.
 *
 * @param <E> the type of the entries
 */
final class TimerHeap<E extends TimerHeap.Entry> {

    private static final int NOWHERE = -1;

    /** An entry: for one time, and in one heap at most. */
    abstract static class Entry {

        private long atNanos;
        private int place = NOWHERE;

        /** Returns the time of this entry; of an entry that is in no heap, its last time. */
        final long atNanos() {
            return atNanos;
        }
    }

    private final List<E> entries = new ArrayList<>();

    int size() {
        return entries.size();
    }

    /** Returns the entry with the earliest time. */
    @Nullable
    E first() {
        return entries.isEmpty() ? null : entries.get(0);
    }

    /** Returns the entry at this position, from 0: the first is the earliest, and the next ones are rather early. */
    E get(int position) {
        return entries.get(position);
    }

    /** Adds the entry for this time, or moves it to this time. If memory is short, nothing changes. */
    void put(E entry, long atNanos) {
        Entry added = entry;
        if (added.place == NOWHERE) {
            entries.add(entry);
            added.place = entries.size() - 1;
        }
        added.atNanos = atNanos;
        settle(entry, added.place);
    }

    /** Removes the entry, if it is here. */
    void remove(E entry) {
        Entry removed = entry;
        int place = removed.place;
        if (place == NOWHERE) {
            return;
        }
        removed.place = NOWHERE;
        E last = entries.remove(entries.size() - 1);
        if (last != entry) {
            settle(last, place);
        }
    }

    /** Moves an entry up from this place, or else down, to where it belongs. */
    private void settle(E entry, int from) {
        int place = from;
        while (place > 0 && isBefore(entry, entries.get((place - 1) / 2))) {
            set(entries.get((place - 1) / 2), place);
            place = (place - 1) / 2;
        }
        if (place == from) {
            for (int child;
                    (child = earlierChild(place)) < size() && isBefore(entries.get(child), entry);
                    place = child) {
                set(entries.get(child), place);
            }
        }
        set(entry, place);
    }

    private int earlierChild(int place) {
        int left = 2 * place + 1;
        int right = left + 1;
        return right < size() && isBefore(entries.get(right), entries.get(left)) ? right : left;
    }

    private void set(E entry, int place) {
        entries.set(place, entry);
        ((Entry) entry).place = place;
    }

    private static boolean isBefore(Entry one, Entry other) {
        return one.atNanos - other.atNanos < 0;
    }
}
