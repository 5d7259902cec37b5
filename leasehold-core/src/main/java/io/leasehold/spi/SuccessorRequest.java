package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.Objects;

/**
 * A request of a lock's holder to put one waiter before all others: the first waiter of the queue that would hold the lock
 * under this holder id. The other waiters keep their order. It does not end the hold; a release does that, and the queue then
 * continues as usual. Idempotent, and without effect if the owner token does not hold the lock: so a copy that arrives after the
 * release changes nothing.
 *
 * @param name the exclusive lock
 * @param owner the owner token of the holder
 * @param holderId the holder id of the waiter
 * @param timeoutNanos the time limit after which the store must complete its reply
 */
public record SuccessorRequest(LockName name, OwnerToken owner, String holderId, long timeoutNanos) {

    /** Refuses nulls. */
    public SuccessorRequest {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(holderId, "holderId");
    }
}
