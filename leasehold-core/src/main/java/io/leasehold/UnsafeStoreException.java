package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The store, or its URI, promises less than was required, or its configuration makes locks unsafe. The message has the values.
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
