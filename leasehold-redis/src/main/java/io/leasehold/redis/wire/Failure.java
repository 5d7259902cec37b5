package io.leasehold.redis.wire;

import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import java.util.Objects;

/**
 * Why a request failed.
 *
 * @param kind what that means for its effect
 * @param error for people
 */
public record Failure(FailureKind kind, LockStoreException error) {
    /** Refuses nulls. */
    public Failure {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(error, "error");
    }
}
