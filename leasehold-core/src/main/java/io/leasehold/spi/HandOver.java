package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.Objects;

/**
 * A lock that became free was given to a waiter in the same step: the node's record of it names the waiter's owner token,
 * for as long as the claim that its request asked for.
 *
 * @param name the lock
 * @param attemptId whose it is: the {@link OwnerToken#attemptId()} of the waiter
 * @param tokens the fencing tokens that the node reserved for it, and has stored as its fence
 * @param serverMicros the node's clock when it did so
 */
public record HandOver(LockName name, String attemptId, TokenRange tokens, long serverMicros) {

    /** Refuses nulls. */
    public HandOver {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(attemptId, "attemptId");
        Objects.requireNonNull(tokens, "tokens");
    }
}
