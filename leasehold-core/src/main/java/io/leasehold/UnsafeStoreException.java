package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store or its URI promises less than required, or if its configuration makes locks unsafe. The message
 * names the values.
 */
public final class UnsafeStoreException extends LockStoreException {

    private static final long serialVersionUID = 1L;

    /** An error of one node. */
    public UnsafeStoreException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An error of several nodes. */
    public UnsafeStoreException(String message, List<NodeVote> votes, @Nullable Throwable cause) {
        super(message, votes, cause);
    }
}
