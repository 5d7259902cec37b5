package io.leasehold.spring;

/**
 * Thrown if the thread was interrupted while it waited for a lock, and the method does not declare
 * {@link InterruptedException}. The thread's interrupt flag is set again; the body has not run.
 */
public final class AcquireInterruptedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    AcquireInterruptedException(Object lock, InterruptedException cause) {
        super("interrupted while waiting for " + lock, cause);
    }
}
