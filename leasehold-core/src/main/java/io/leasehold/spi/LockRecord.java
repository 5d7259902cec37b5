package io.leasehold.spi;

import io.leasehold.Holder;
import io.leasehold.LockName;
import java.util.Objects;

/**
 * A lock as it stands at the store, for people.
 *
 * @param name the lock
 * @param holder who holds it
 */
public record LockRecord(LockName name, Holder holder) {
    /** Refuses nulls. */
    public LockRecord {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(holder, "holder");
    }
}
