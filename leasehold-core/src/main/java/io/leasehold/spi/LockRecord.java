package io.leasehold.spi;

import io.leasehold.Holder;
import io.leasehold.LockName;
import java.util.Objects;

/**
 * The current state of a lock at the store, for operators.
 *
 * @param name the lock
 * @param holder its holder
 */
public record LockRecord(LockName name, Holder holder) {
    /** Refuses nulls. */
    public LockRecord {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(holder, "holder");
    }
}
