package io.leasehold.engine;

import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.OwnerToken;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The end of a lease whose place another takes: the ticket of an export, or the read lease of a downgrade.
 *
 * @param <T> the result for the caller
 */
interface Conversion<T> extends GrantMachine.Export {

    /** Completes, on any thread, with the result; exceptionally if there is none. */
    CompletableFuture<T> result();

    /**
     * Sends the request of a grant that has ended in this client. Completes, on any thread, with the outcome; never
     * exceptionally.
     *
     * @param validUntilAtNanos the end of the validity that the grant had
     */
    CompletableFuture<ReleaseOutcome> send(
            OwnerToken owner, @Nullable GrantTokens tokens, long token, long validUntilAtNanos);

    void fail(RuntimeException why);

    /** Fails a conversion that could not be sent, unless it has failed before. */
    void failUnsent(@Nullable Throwable why);
}
