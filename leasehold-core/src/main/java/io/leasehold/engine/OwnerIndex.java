package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Values by owner token; several may have the same token. Open addressing with linear probing: a value takes two
 * references and its share of the free places, where a map of the JDK takes an object besides. Not thread-safe.
 *
 * @param <V> the type of the values
 */
final class OwnerIndex<V> {

    private static final int SMALLEST = 16;

    /** The owner token of each place, or null if the place is free. The number of places is a power of two. */
    private @Nullable OwnerToken[] owners = new OwnerToken[SMALLEST];

    private @Nullable Object[] values = new Object[SMALLEST];
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    /** Adds the value. If memory is short, nothing changes. */
    void add(OwnerToken owner, V value) {
        if (size >= owners.length / 4 * 3) {
            grow();
        }
        put(owner, value);
        size++;
    }

    private void put(OwnerToken owner, @Nullable Object value) {
        int place = firstPlace(owner);
        while (owners[place] != null) {
            place = next(place);
        }
        owners[place] = owner;
        values[place] = value;
    }

    private void grow() {
        @Nullable OwnerToken[] oldOwners = owners;
        @Nullable Object[] oldValues = values;
        @Nullable Object[] more = new Object[2 * oldValues.length];
        owners = new OwnerToken[2 * oldOwners.length];
        values = more;
        for (int i = 0; i < oldOwners.length; i++) {
            OwnerToken owner = oldOwners[i];
            if (owner != null) {
                put(owner, oldValues[i]);
            }
        }
    }

    /** Removes this value of the owner token, if it is here. */
    void remove(OwnerToken owner, V value) {
        int place = firstPlace(owner);
        while (owners[place] != null && !(values[place] == value && owner.equals(owners[place]))) {
            place = next(place);
        }
        if (owners[place] != null) {
            free(place);
            size--;
        }
    }

    /** Frees the place, and closes the gap: a search ends at the first free place. */
    private void free(int place) {
        int gap = place;
        OwnerToken later;
        for (int i = next(gap); (later = owners[i]) != null; i = next(i)) {
            // The value may move back to the gap, unless its first place lies behind the gap.
            if (distance(firstPlace(later), i) >= distance(gap, i)) {
                owners[gap] = later;
                values[gap] = values[i];
                gap = i;
            }
        }
        owners[gap] = null;
        values[gap] = null;
    }

    /** Returns the values of this owner token. */
    List<V> find(OwnerToken owner) {
        List<V> found = new ArrayList<>(1);
        for (int place = firstPlace(owner); owners[place] != null; place = next(place)) {
            if (owner.equals(owners[place])) {
                found.add(value(place));
            }
        }
        return found;
    }

    List<V> all() {
        List<V> all = new ArrayList<>(size);
        for (int place = 0; place < owners.length; place++) {
            if (owners[place] != null) {
                all.add(value(place));
            }
        }
        return all;
    }

    @SuppressWarnings({"unchecked", "NullAway"}) // only add() writes a value, to a place that is taken
    private V value(int place) {
        return (V) values[place];
    }

    private int firstPlace(OwnerToken owner) {
        return owner.hashCode() & (owners.length - 1);
    }

    private int next(int place) {
        return (place + 1) & (owners.length - 1);
    }

    private int distance(int from, int to) {
        return (to - from) & (owners.length - 1);
    }
}
