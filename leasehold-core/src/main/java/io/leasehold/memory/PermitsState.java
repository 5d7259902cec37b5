package io.leasehold.memory;

import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.memory.NameState.Held;
import io.leasehold.spi.OwnerToken;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalInt;
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

    /** Returns the slot that this owner token holds. */
    OptionalInt slotOf(OwnerToken owner) {
        for (Map.Entry<Integer, Held> slot : held.entrySet()) {
            if (slot.getValue().owner().equals(owner)) {
                return OptionalInt.of(slot.getKey());
            }
        }
        return OptionalInt.empty();
    }

    /** Returns the lowest free slot below the count. */
    OptionalInt lowestFree() {
        for (int slot = 0; slot < count; slot++) {
            if (!held.containsKey(slot)) {
                return OptionalInt.of(slot);
            }
        }
        return OptionalInt.empty();
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
