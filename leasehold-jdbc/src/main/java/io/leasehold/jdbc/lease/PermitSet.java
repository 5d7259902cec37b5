package io.leasehold.jdbc.lease;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The permits of one name in a lease table: one count and one fence for all slots. Pure.
 *
 * @param count the number of permits; 0 until a client or an operator has set it
 * @param version the count itself if a client has set it; if an operator has, above {@link LockName#MAX_PERMITS}, and
 *     larger after each change. So one version never stands for two counts
 * @param most the largest count ever: no slot from it on is held
 * @param fence the largest fencing token that was ever granted or proposed
 * @param held the holds that have not ended, by slot
 */
public record PermitSet(int count, long version, int most, long fence, SortedMap<Integer, Held> held) {

    /** Copies the holds. */
    public PermitSet {
        held = new TreeMap<>(held);
    }

    /** The permits of a name that has none yet, with this fence, below which no token may fall. */
    public static PermitSet absent(long fence) {
        return new PermitSet(0, 0, 0, fence, new TreeMap<>());
    }

    /** The same permits, counted by the first client that requests one. */
    public PermitSet countedBy(int stated) {
        return count > 0 ? this : new PermitSet(stated, stated, Math.max(most, stated), fence, held);
    }

    /** The same permits with the count of an operator. */
    public PermitSet changedTo(int newCount) {
        long next = Math.max(version, LockName.MAX_PERMITS) + 1;
        return new PermitSet(newCount, next, Math.max(most, newCount), fence, held);
    }

    /** The same permits with another fence. */
    public PermitSet withFence(long newFence) {
        return new PermitSet(count, version, most, newFence, held);
    }

    /** The slots that this owner token holds, ascending. */
    public List<Integer> slotsOf(OwnerToken owner) {
        return held.entrySet().stream()
                .filter(slot -> slot.getValue().owner().equals(owner))
                .map(Map.Entry::getKey)
                .toList();
    }

    /**
     * The slots for this owner token: those that it holds, or else the lowest free ones, so many; none if fewer are
     * free.
     */
    public List<Integer> slotsFor(OwnerToken owner, int number) {
        List<Integer> own = slotsOf(owner);
        if (!own.isEmpty()) {
            return own;
        }
        List<Integer> free = new ArrayList<>();
        for (int slot = 0; slot < count && free.size() < number; slot++) {
            if (!held.containsKey(slot)) {
                free.add(slot);
            }
        }
        return free.size() == number ? free : List.of();
    }

    /** The tokens of the next grant, or null if they would reach 2<sup>53</sup>. */
    public @Nullable TokenRange tokens(long seen, int reserve, StoreTime now) {
        long first = Math.max(Math.max(1, seen + 1), Math.max(now.wallMicros(), fence + 1));
        return first >= TokenRange.LIMIT - reserve ? null : TokenRange.of(first, reserve);
    }

    /** The fence after the end of an owner token with this ballot. */
    public long fenceAfter(long ballot, StoreTime now) {
        long most = Math.max(fence, now.wallMicros()) + LeaseRules.FENCE_LEAD.toNanos() / 1000;
        return Math.max(fence, Math.min(ballot, most));
    }

    /** The holder whose hold ends first, or null if no permit is held. */
    public @Nullable Holder soonest(StoreTime now) {
        return held.values().stream()
                .min((one, other) -> Long.compare(one.expiresAtNanos(), other.expiresAtNanos()))
                .map(hold -> holder(hold, now))
                .orElse(null);
    }

    private static Holder holder(Held hold, StoreTime now) {
        long leftNanos = Math.max(0, hold.expiresAtNanos() - now.nanos());
        return new Holder(hold.holderId(), Duration.ofNanos(leftNanos), OptionalLong.of(hold.token()));
    }

    /** The permits in their public form. */
    public PermitsStatus status(LockName name, StoreTime now) {
        return new PermitsStatus(
                name,
                count,
                version,
                held.entrySet().stream()
                        .map(slot -> new PermitsStatus.HeldPermit(slot.getKey(), holder(slot.getValue(), now)))
                        .toList());
    }
}
