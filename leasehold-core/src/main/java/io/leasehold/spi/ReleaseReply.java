package io.leasehold.spi;

import io.leasehold.LockStoreException;
import java.util.Objects;

/** What a store answers to a release or undo. */
public sealed interface ReleaseReply {

    /** The lock was held by this owner token, and is not any more. */
    record Released() implements ReleaseReply {}

    /** The lock was not held by this owner token. */
    record NotOurs() implements ReleaseReply {}

    /**
     * Not known; the engine repeats the request.
     *
     * @param kind {@link FailureKind#PERMANENT} if repeating does not help
     * @param error what happened
     */
    record Failed(FailureKind kind, LockStoreException error) implements ReleaseReply {
        /** Refuses nulls. */
        public Failed {
            Objects.requireNonNull(kind, "kind");
            Objects.requireNonNull(error, "error");
        }
    }
}
