package io.leasehold.spi;

import io.leasehold.LockStoreException;
import java.util.Objects;

/** A store's answer to an {@link ExportRequest}. */
public sealed interface ExportReply {

    /** The store keeps the lock for the ticket, and the holder's owner token has ended. Also the answer to a copy. */
    record Exported() implements ExportReply {}

    /** Neither the holder's nor the ticket's owner token has the lock. */
    record NotOurs() implements ExportReply {}

    /**
     * The request failed.
     *
     * @param kind its effect; the engine repeats the request unless it is {@link FailureKind#PERMANENT}
     * @param error the error
     */
    record Failed(FailureKind kind, LockStoreException error) implements ExportReply {
        /** Refuses nulls. */
        public Failed {
            Objects.requireNonNull(kind, "kind");
            Objects.requireNonNull(error, "error");
        }
    }
}
