package io.leasehold.jedis;

import org.jspecify.annotations.Nullable;

/** A connection ended after a request had left, and before it was answered. */
final class LostException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Where it was noticed tells nothing, so there is no trace. */
    LostException(@Nullable RuntimeException why) {
        super("the connection ended" + (why == null ? "" : ": " + why.getMessage()), why, false, false);
    }
}
