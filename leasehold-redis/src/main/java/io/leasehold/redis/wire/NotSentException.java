package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/** Reports that no connection was available for a request, so the server has not received it. */
public final class NotSentException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception without a stack trace, which would not help. */
    public NotSentException(@Nullable String words, @Nullable Throwable heardAs) {
        super(words, heardAs, false, false);
    }
}
