package io.leasehold.jedis;

import org.jspecify.annotations.Nullable;

/** Thrown if a connection ended after a request had been sent, and before its reply. */
final class LostException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception without a stack trace, which would not help. */
    LostException(@Nullable RuntimeException why) {
        super("the connection ended" + (why == null ? "" : ": " + why.getMessage()), why, false, false);
    }
}
