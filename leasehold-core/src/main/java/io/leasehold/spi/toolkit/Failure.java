package io.leasehold.spi.toolkit;

import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import java.util.Objects;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

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

    /** The store cannot answer, or has not. */
    public static Failure unavailable(FailureKind kind, String message, @Nullable Throwable cause) {
        return new Failure(kind, new StoreUnavailableException(message, cause));
    }

    /** The store refuses this user, permanently. */
    public static Failure access(String message, @Nullable Throwable cause) {
        return new Failure(FailureKind.PERMANENT, new StoreAccessException(message, cause));
    }

    /** The innermost message of an error: its reason, which others have wrapped. */
    public static String reason(Throwable error) {
        String reason = String.valueOf(error.getMessage());
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            reason = cause.getMessage() == null ? reason : cause.getMessage();
        }
        return reason;
    }

    /** The error of a failed future, without the exceptions that futures wrap around it. Safe for all threads. */
    public static Throwable unwrapped(Throwable thrown) {
        Throwable cause = thrown.getCause();
        boolean isWrapper = thrown instanceof CompletionException || thrown instanceof ExecutionException;
        return isWrapper && cause != null ? unwrapped(cause) : thrown;
    }
}
