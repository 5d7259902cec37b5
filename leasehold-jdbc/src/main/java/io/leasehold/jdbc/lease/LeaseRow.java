package io.leasehold.jdbc.lease;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One row of the lease table: the holder of a lock, its longest waiter, and its fence. The row stays when the lock is
 * released, because the fence must.
 *
 * @param name the lock
 * @param origin the zero of all times of this row; see {@link StoreTime#origin()}
 * @param held the hold, or null if the lock is free
 * @param waiter the next waiter for the lock, if there is one
 * @param freedAtNanos the end of the last hold; while readers hold, the end of a waiting writer's note, which keeps further
 *     readers out; meaningless while a writer holds
 * @param fence the largest fencing token of this lock that was ever granted or proposed
 */
public record LeaseRow(
        LockName name,
        String origin,
        @Nullable Held held,
        @Nullable Waiter waiter,
        long freedAtNanos,
        long fence) {

    /** The owner of a lock that readers hold: no client's owner token. */
    static final OwnerToken READERS = OwnerToken.fromHex("0".repeat(2 * OwnerToken.BYTES));

    /**
     * A hold: of a writer, of one reader, or of all readers of a lock together.
     *
     * @param owner the owner token, which proves it
     * @param holderId the id of the holder, for operators
     * @param expiresAtNanos its end
     * @param ttlNanos the ttl it was given: no hold has more than this left
     * @param token its first fencing token
     * @param life the life of the holding process, or null if it is not recorded
     */
    public record Held(
            OwnerToken owner,
            String holderId,
            long expiresAtNanos,
            long ttlNanos,
            long token,
            @Nullable String life) {
        /** Whether this is the hold of all readers together: no client exclusively holds the lock. */
        public boolean isReaders() {
            return owner.equals(READERS);
        }

        /** The holder in its public form. */
        public Holder asHolder(long leftNanos) {
            return new Holder(
                    isReaders() ? Holder.READERS : holderId,
                    Duration.ofNanos(Math.max(0, leftNanos)),
                    OptionalLong.of(token));
        }

        Held during(@Nullable String ofLife) {
            return new Held(owner, holderId, expiresAtNanos, ttlNanos, token, ofLife);
        }

        Held expiringAt(long atNanos, long withTtlNanos) {
            return new Held(owner, holderId, atNanos, withTtlNanos, token, life);
        }
    }

    /**
     * A waiter.
     *
     * @param owner its owner token
     * @param sinceNanos when it was noted
     * @param reads whether it waits as a reader
     */
    public record Waiter(OwnerToken owner, long sinceNanos, boolean reads) {
        /** A waiter that is no reader. */
        public Waiter(OwnerToken owner, long sinceNanos) {
            this(owner, sinceNanos, false);
        }
    }

    /** The row of a lock that has none yet: free, with this fence, below which no token may fall. */
    public static LeaseRow absent(LockName name, StoreTime now, long fence) {
        return new LeaseRow(name, now.origin(), null, null, now.nanos(), fence);
    }

    /**
     * Whether both rows say the same, as {@link #equals}. The JVM links that of a record at its first call, which takes
     * longer than the statements of a release.
     */
    public boolean isLike(LeaseRow other) {
        return fence == other.fence
                && freedAtNanos == other.freedAtNanos
                && name.equals(other.name)
                && origin.equals(other.origin)
                && Objects.equals(held, other.held)
                && Objects.equals(waiter, other.waiter);
    }

    LeaseRow with(@Nullable Held newHeld, @Nullable Waiter newWaiter, long newFence) {
        return new LeaseRow(name, origin, newHeld, newWaiter, freedAtNanos, newFence);
    }

    /** The row with unchanged times, counted from this origin. */
    public LeaseRow countedFrom(String newOrigin) {
        return new LeaseRow(name, newOrigin, held, waiter, freedAtNanos, fence);
    }

    /** The row with a fence of at least this value. */
    public LeaseRow withFenceAbove(long floor) {
        return floor <= fence ? this : with(held, waiter, floor);
    }

    /** The row, held by readers, with another end of the waiting writer's note. */
    LeaseRow notedUntil(long atNanos) {
        return new LeaseRow(name, origin, held, waiter, atNanos, fence);
    }

    /** Whether readers hold the lock. */
    public boolean isRead() {
        return held != null && held.isReaders();
    }

    /** The row without its hold, which ended then. */
    public LeaseRow freedAt(long atNanos) {
        return new LeaseRow(name, origin, null, waiter, atNanos, fence);
    }

    /** The row with its hold, if there is one, bound to the life of the process that has it. */
    public LeaseRow heldDuring(@Nullable String life) {
        return held == null ? this : with(held.during(life), waiter, fence);
    }

    /** Whether this owner token has the hold. */
    public boolean isHeldBy(OwnerToken owner) {
        return held != null && held.owner().equals(owner);
    }

    boolean isAwaitedBy(OwnerToken owner) {
        return waiter != null && waiter.owner().equals(owner);
    }

    /**
     * The holder in its public form, or null if the lock is free. The row must be {@linkplain LeaseRules#asOf current}.
     */
    public @Nullable Holder holder(StoreTime now) {
        return held == null ? null : held.asHolder(held.expiresAtNanos() - now.nanos());
    }
}
