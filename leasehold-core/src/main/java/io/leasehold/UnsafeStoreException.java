package io.leasehold;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown if the store promises less than required, if its configuration makes locks unsafe, or if it cannot do what was
 * requested: keep a ticket, readers or permits, let a leader name its successor, accept a ttl above its largest one, or
 * export a permit. The message names the values.
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
