package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if a request was sent and its outcome is unknown. The caller does not hold the lock: Leasehold undoes the
 * request by its owner token, now and after a reconnect, until the store answers or the ttl has passed. Until then the
 * lock may appear held by this client. Only an attempt to {@linkplain LockClient#resume resume} an exported lease is not
 * undone: the next attempt of the client with the same ticket continues it.
 */
public final class AmbiguousAcquireException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    /** An error of one node. */
    public AmbiguousAcquireException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An error of several nodes. */
    public AmbiguousAcquireException(String message, List<NodeVote> votes, @Nullable Throwable cause) {
        super(message, votes, cause);
    }
}
