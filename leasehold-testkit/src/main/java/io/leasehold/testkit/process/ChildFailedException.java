package io.leasehold.testkit.process;

import org.jspecify.annotations.Nullable;

/** A child process did not do what the test waited for; the message ends with the tail of what the child printed. */
public final class ChildFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ChildFailedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
