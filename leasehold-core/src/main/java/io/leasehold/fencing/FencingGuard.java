package io.leasehold.fencing;

import io.leasehold.Lease;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Guards a resource and rejects every holder older than the newest one seen.
 *
 * <p><b>Guarantee.</b> Once a token {@code t} of a writer was admitted, every token below {@code t} is rejected for that
 * resource. Once a token {@code t} of a reader was admitted, every writer's token below {@code t} is rejected, and
 * older readers are not ({@link TokenPair} states the rule). This holds for as long as the guard remembers (each
 * implementation documents how long). The holder's actions <em>after</em> the answer are protected only if they are
 * atomic with it: in the same transaction, script or critical section. Each implementation documents how.
 *
 * <p><b>Threads.</b> Any thread may use it.
 */
@FunctionalInterface
public interface FencingGuard {

    /**
     * Presents the token of an exclusive lease at first contact, before the holder reads or writes anything.
     *
     * @param resource the resource to use; one name means one resource
     * @param token the fencing token of the lease for this use
     * @return whether the holder may proceed
     * @throws IllegalArgumentException if the token is not one that a lease can have
     */
    Admission admit(String resource, long token);

    /**
     * Presents a token at first contact, before the holder reads or writes anything.
     *
     * <p>A guard that does not override this method keeps one number and admits a reader as a writer: that is safe, but
     * an older reader is rejected after a newer one. The guards of Leasehold override it.
     *
     * <p>A reader that is admitted may read only: readers do not exclude each other.
     *
     * @param resource the resource to use; one name means one resource
     * @param token the fencing token of the lease for this use
     * @param access the kind of that lease
     * @return whether the holder may proceed
     * @throws IllegalArgumentException if the token is not one that a lease can have
     */
    default Admission admit(String resource, long token, Access access) {
        Objects.requireNonNull(access, "access");
        return admit(resource, token);
    }

    /**
     * Presents the token and the kind of a lease at first contact, before the holder reads or writes anything.
     *
     * @param resource the resource to use; one name means one resource
     * @return whether the holder may proceed
     */
    default Admission admit(String resource, Lease lease) {
        return admit(resource, lease.fencingToken(), Access.of(lease));
    }

    /**
     * Creates a guard for resources of this process. It remembers two numbers for each name, until the guard is
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
        return new ObservedGuard(this, observer);
    }
}
