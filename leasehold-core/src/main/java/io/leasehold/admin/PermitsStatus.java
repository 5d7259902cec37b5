package io.leasehold.admin;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.Permits;
import java.util.List;
import java.util.Objects;

/**
 * The {@link Permits} of a name as the store reports them. Public: it never contains an owner token.
 *
 * @param name the permits
 * @param count the number of permits that the store keeps for the name; at a store that keeps no count, the largest
 *     number that a holder states
 * @param version the version of the count: the count itself if a client has set it; if an operator has, it is above
 *     {@link LockName#MAX_PERMITS}, and larger after each change. So one version never stands for two counts. {@link
 *     #NO_COUNT} at a store that keeps no count
 * @param held the permits that are held, in the order of their slots. After the count was lowered, slots from
 *     {@code count} on may be among them until their holders release them
 */
public record PermitsStatus(LockName name, int count, long version, List<HeldPermit> held) {

    /** The version at a store that keeps no count. */
    public static final long NO_COUNT = 0;

    /** Refuses null and copies the list. */
    public PermitsStatus {
        Objects.requireNonNull(name, "name");
        held = List.copyOf(held);
    }

    /**
     * A held permit.
     *
     * @param slot its slot
     * @param holder its holder
     */
    public record HeldPermit(int slot, Holder holder) {
        /** Refuses null. */
        public HeldPermit {
            Objects.requireNonNull(holder, "holder");
        }
    }
}
