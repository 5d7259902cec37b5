package io.leasehold.spring;

import io.leasehold.Lease;
import org.jspecify.annotations.Nullable;

/**
 * Work that runs while a lock is held.
 *
 * @param <T> its result
 * @param <X> its exceptions
 */
@FunctionalInterface
public interface LockedWork<T extends @Nullable Object, X extends Exception> {

    /** Runs under the lease, which is released afterwards. */
    T run(Lease lease) throws X;
}
