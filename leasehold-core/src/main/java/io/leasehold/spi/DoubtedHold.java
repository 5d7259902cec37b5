package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.Objects;

/**
 * A hold that a store may no longer keep: see {@link StoreSignals#doubted}.
 *
 * @param owner the grant
 * @param name the lock
 */
public record DoubtedHold(OwnerToken owner, LockName name) {

    /** Refuses nulls. */
    public DoubtedHold {
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(name, "name");
    }
}
