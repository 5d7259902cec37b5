package io.leasehold.fencing;

import java.util.Objects;
import java.util.function.Consumer;

/**
 * Stands before a resource and lets nobody in who is older than the newest one seen.
 *
 * <p><b>Guarantee.</b> Once {@code admit(resource, t)} was admitted, every token below {@code t} is rejected for that
 * resource, for as long as the guard remembers (each implementation says how long). What the holder does <em>after</em> the
 * answer is covered only if it is one step with it: in the same transaction, script or critical section. Each implementation
 * says how that is done.
 *
 * <p><b>Threads.</b> Any thread may use it.
 */
@FunctionalInterface
public interface FencingGuard {

    /**
     * Shows a token, at first contact, before reading or writing anything.
     *
     * @param resource what is to be used; one name means one resource
     * @param token the fencing token of the lease under which it is used
     * @return whether the holder may go on
     * @throws IllegalArgumentException if the token is not one that a lease can have
     */
    Admission admit(String resource, long token);

    /** A guard for resources of this process; it remembers as long as it lives, one number for each name. */
    static FencingGuard inMemory() {
        return new InMemoryFencingGuard();
    }

    /**
     * The same guard, which tells of each answer: to count rejections, or to log them.
     *
     * @param observer called by the asking thread before the answer is returned; must not block
     */
    default FencingGuard reportingTo(Consumer<? super Admission> observer) {
        Objects.requireNonNull(observer, "observer");
        return (resource, token) -> {
            Admission admission = admit(resource, token);
            observer.accept(admission);
            return admission;
        };
    }
}
