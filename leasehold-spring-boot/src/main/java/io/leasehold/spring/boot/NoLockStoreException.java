package io.leasehold.spring.boot;

import org.jspecify.annotations.Nullable;

/** Thrown if there is no store for locks, or it does not answer. */
final class NoLockStoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String cure;

    NoLockStoreException(String problem, String cure, @Nullable Throwable cause) {
        super(problem, cause);
        this.cure = cure;
    }

    String cure() {
        return cure;
    }
}
