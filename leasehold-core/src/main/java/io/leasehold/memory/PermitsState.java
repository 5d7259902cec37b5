package io.leasehold.memory;

import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.memory.NameState.Held;
import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The permits of one name at an {@link InMemoryNode}: one count, one fence and one queue for all slots. Not
 * thread-safe.
 */
final class PermitsState {

    /** The fence and the queue; its hold is not used. */
    final NameState line;
    /** The holds by slot. After the count was lowered, some slots may be beyond it. */
    final NavigableMap<Integer, Held> held = new TreeMap<>();
    /** The number of permits; 0 until it is known. */
    int count;
    /**
     * The version of the count: the count itself if a client has set it, above {@link LockName#MAX_PERMITS} if an
     * operator has. So a name that was forgotten and counted anew has no version that stood for another count.
     */
    long version;

    PermitsState() {
        this(new NameState());
    }

    private PermitsState(NameState line) {
        this.line = line;
    }

    PermitsState copy() {
        PermitsState copy = new PermitsState(line.copy());
        copy.held.putAll(held);
        copy.count = count;
        copy.version = version;
        return copy;
    }

    /** Removes what has ended: holds, and waiters that were silent for too long. */
    void dropEnded(long nowNanos) {
        held.values().removeIf(hold -> nowNanos - hold.endsAtNanos() >= 0);
        line.dropSilentWaiters(nowNanos);
    }

    /** Returns the slots that this owner token holds, ascending. */
    List<Integer> slotsOf(OwnerToken owner) {
        return held.entrySet().stream()
                .filter(slot -> slot.getValue().owner().equals(owner))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns the lowest free slots below the count, so many; none if fewer are free. */
    List<Integer> lowestFree(int number) {
        List<Integer> free = new ArrayList<>(number);
        for (int slot = 0; slot < count && free.size() < number; slot++) {
            if (!held.containsKey(slot)) {
                free.add(slot);
            }
        }
        return free.size() == number ? free : List.of();
    }

    /** Whether nothing would be lost with this state, except its fence. An operator's count stays. */
    boolean isUnused() {
        return held.isEmpty() && line.waiters.isEmpty() && version <= LockName.MAX_PERMITS;
    }

    PermitsStatus status(LockName name, long nowNanos) {
        return new PermitsStatus(
                name,
                count,
                version,
                held.entrySet().stream()
                        .map(slot -> new PermitsStatus.HeldPermit(
                                slot.getKey(), slot.getValue().asHolder(nowNanos)))
                        .toList());
    }
}
