package io.leasehold.servers;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if a server could not be started, reached or brought into the requested state.
 *
 * <p>The message names the server and its port and, where the server itself complained, ends with the tail of its log.
 */
public final class ServerException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ServerException(String message) {
        super(message);
    }

    ServerException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
