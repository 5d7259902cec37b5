package io.leasehold.redis.wire;

import io.leasehold.spi.toolkit.Failure;
import org.jspecify.annotations.Nullable;

/** The error with which a server has answered a request, in the server's own words, for any client library. */
public final class ServerRefusal extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Creates the exception without a stack trace, which would not help. */
    public ServerRefusal(@Nullable String words, @Nullable Throwable heardAs) {
        super(words, heardAs, false, false);
    }

    /** Whether the server does not know the digest of a script, so that nothing has run. */
    public boolean isOfUnknownScript() {
        String words = getMessage();
        return words != null && words.startsWith("NOSCRIPT");
    }

    /** Whether an exception is such an answer. */
    public static boolean is(@Nullable Throwable thrown) {
        return thrown != null && Failure.unwrapped(thrown) instanceof ServerRefusal;
    }
}
