package io.leasehold.jedis;

import org.jspecify.annotations.Nullable;

/** Thrown if a connection ended after a request had been sent, and before its reply. */
final class LostException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Has no stack trace: the place where the end was noticed says nothing. */
    LostException(@Nullable RuntimeException why) {
        super("the connection ended" + (why == null ? "" : ": " + why.getMessage()), why, false, false);
    }
}
