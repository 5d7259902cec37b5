package io.leasehold.fencing;

import java.util.Objects;
import java.util.function.Consumer;

/**
 * Guards a resource and rejects every holder older than the newest one seen.
 *
 * <p><b>Guarantee.</b> Once a token {@code t} was admitted, every token below {@code t} is rejected for that resource,
 * for as long as the guard remembers (each implementation documents how long). The holder's actions <em>after</em> the
 * answer are protected only if they are atomic with it: in the same transaction, script or critical section. Each
 * implementation documents how.
 *
 * <p><b>Threads.</b> Any thread may use it.
 */
@FunctionalInterface
public interface FencingGuard {

    /**
     * Presents a token at first contact, before the holder reads or writes anything.
     *
     * @param resource the resource to use; one name means one resource
     * @param token the fencing token of the lease for this use
     * @return whether the holder may proceed
     * @throws IllegalArgumentException if the token is not one that a lease can have
     */
    Admission admit(String resource, long token);

    /**
     * Creates a guard for resources of this process. It remembers one number for each name, until the guard is
     * garbage-collected.
     */
    static FencingGuard inMemory() {
        return new InMemoryFencingGuard();
    }

    /**
     * Returns this guard with an observer of each answer: to count rejections, or to log them.
     *
     * @param observer called by the thread that presents the token, before the answer is returned; must not block
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
