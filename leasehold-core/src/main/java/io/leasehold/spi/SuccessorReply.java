package io.leasehold.spi;

import io.leasehold.LockStoreException;
import java.util.Objects;

/** A store's answer to a {@link SuccessorRequest}. */
public sealed interface SuccessorReply {

    /** The waiter is the first of the queue. Also the answer to a copy. */
    record First() implements SuccessorReply {}

    /** No waiter has this holder id, or the store did not find it in the part of a long queue that it searches. */
    record NotWaiting() implements SuccessorReply {}

    /** The owner token does not hold the lock; nothing has changed. */
    record NotOurs() implements SuccessorReply {}

    /**
     * The request failed.
     *
     * @param kind its effect; the engine may repeat the request unless it is {@link FailureKind#PERMANENT}
     * @param error the error
     */
    record Failed(FailureKind kind, LockStoreException error) implements SuccessorReply {
        /** Refuses nulls. */
        public Failed {
            Objects.requireNonNull(kind, "kind");
            Objects.requireNonNull(error, "error");
        }
    }
}
