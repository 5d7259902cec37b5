package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * The failure of a request. Immutable.
 *
 * @param kind the effect of the failed request
 * @param error the error for the caller
 */
public record Failure(FailureKind kind, LockStoreException error) {
    /** Refuses nulls. */
    public Failure {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(error, "error");
    }

    /** The error of a failed future, without the exceptions that futures wrap around it. Safe for all threads. */
    public static Throwable unwrapped(Throwable thrown) {
        Throwable cause = thrown.getCause();
        boolean isWrapper = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return isWrapper && cause != null ? unwrapped(cause) : thrown;
    }
}
