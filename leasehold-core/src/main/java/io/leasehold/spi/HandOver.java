package io.leasehold.spi;

import io.leasehold.LockName;
import java.util.Objects;

/**
 * A lock that was handed over to a waiter in the step that freed it. The node records the waiter's owner token as the
 * holder, for the claim time of its request.
 *
 * @param name the lock
 * @param attemptId the {@link OwnerToken#attemptId()} of the waiter
 * @param tokens the fencing tokens that the node reserved for it, and has stored as its fence
 * @param serverMicros the node's clock at the hand-over
 */
public record HandOver(LockName name, String attemptId, TokenRange tokens, long serverMicros) {

    /** Refuses nulls. */
    public HandOver {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(attemptId, "attemptId");
        Objects.requireNonNull(tokens, "tokens");
    }
}
