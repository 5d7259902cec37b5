package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.spi.FailureKind;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Why a request failed. Immutable.
 *
 * @param kind what the failure means for the effect of the request
 * @param error what the caller is told
 */
public record Failure(FailureKind kind, LockStoreException error) {
    /** Refuses nulls. */
    public Failure {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(error, "error");
    }

    /** The error that a future failed with, without the exceptions that futures wrap around it. Safe for all threads. */
    public static Throwable unwrapped(Throwable thrown) {
        Throwable cause = thrown.getCause();
        boolean isWrapper = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return isWrapper && cause != null ? unwrapped(cause) : thrown;
    }
}
