package io.leasehold.testkit.process;

import org.jspecify.annotations.Nullable;

/**
 * Thrown if a child process did not do what the test waited for; the message ends with the tail of the child's output.
 */
public final class ChildFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ChildFailedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
