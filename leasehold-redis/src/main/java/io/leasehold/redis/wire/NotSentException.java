package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/** There is no connection to send a request on: the server has not heard of it. */
public final class NotSentException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Where it was noticed tells nothing, so there is no trace. */
    public NotSentException(@Nullable String words, @Nullable Throwable heardAs) {
        super(words, heardAs, false, false);
    }
}
