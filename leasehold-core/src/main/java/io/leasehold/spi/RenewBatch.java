package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.List;
import java.util.Objects;

/**
 * Renewals that are sent to the store together. Each extends its lock only if its owner token still holds it.
 *
 * @param items the renewals
 * @param timeoutNanos the time limit after which the store must complete its reply
 */
public record RenewBatch(List<Item> items, long timeoutNanos) {

    /** Copies the items. */
    public RenewBatch {
        items = List.copyOf(items);
    }

    /**
     * One renewal.
     *
     * @param name the lock
     * @param owner the grant
     * @param ttlNanos the time for which the store keeps it from now on
     * @param nodeTimeoutNanos the time for which a store of several nodes waits for each of them; zero means the
     *     store's own configuration
     */
    public record Item(LockName name, OwnerToken owner, long ttlNanos, long nodeTimeoutNanos) {
        /** Refuses nulls. */
        public Item {
            Objects.requireNonNull(name, "name");
            Objects.requireNonNull(owner, "owner");
        }

        /** Creates a renewal with the configured node timeout. */
        public Item(LockName name, OwnerToken owner, long ttlNanos) {
            this(name, owner, ttlNanos, 0);
        }
    }
}
