package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store could not be reached, or answered that it cannot serve now. Nothing was acquired: either no
 * request was sent, or every answer confirmed that.
 */
public final class StoreUnavailableException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    /** An error of one node. */
    public StoreUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An error of several nodes. */
    public StoreUnavailableException(String message, List<NodeVote> votes, @Nullable Throwable cause) {
        super(message, votes, cause);
    }
}
