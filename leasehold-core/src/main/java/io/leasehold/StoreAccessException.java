package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store denied access: authentication failed, or a permission is missing. A retry does not help; the
 * message names the permission to grant.
 */
public final class StoreAccessException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    /** An error of one node. */
    public StoreAccessException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An error of several nodes. */
    public StoreAccessException(String message, List<NodeVote> votes, @Nullable Throwable cause) {
        super(message, votes, cause);
    }
}
