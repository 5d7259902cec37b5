package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The locks that a call requests. The same name at another client is a different lock.
 *
 * @param holderId the public id of the client, even if the method has a proxy of it
 * @param names the locks
 * @param several whether they are acquired together, even if there is only one
 */
public record AskedLocks(String holderId, List<LockName> names, boolean several) {

    /** Whether both have a lock in common. A reader and a writer of one name do: they exclude each other. */
    public boolean overlap(AskedLocks others) {
        return holderId.equals(others.holderId) && !Collections.disjoint(exclusive(), others.exclusive());
    }

    private Set<LockName> exclusive() {
        return names.stream()
                .map(name -> name.isRead() ? name.asExclusive() : name)
                .collect(Collectors.toSet());
    }

    /** Whether a lease of one can serve for the other. */
    public boolean areSameAs(AskedLocks others) {
        return holderId.equals(others.holderId)
                && several == others.several
                && Set.copyOf(names).equals(Set.copyOf(others.names));
    }

    /**
     * Finds the hold of exactly these locks among those that the caller's transaction keeps, because an earlier call in
     * it acquired them.
     *
     * @param scope the body for which a hold was acquired
     * @throws IllegalStateException if only some of these locks are kept, or are kept together with others
     * @throws io.leasehold.LeaseLostException if the hold has been lost since
     */
    public <K> @Nullable K keptAmong(Collection<K> kept, Function<? super K, LeaseScope> scope) {
        for (K one : kept) {
            AskedLocks locks = scope.apply(one).locks();
            if (locks.overlap(this)) {
                if (!locks.areSameAs(this)) {
                    throw new IllegalStateException("the locks " + this
                            + " are requested inside a transaction of the caller that already holds some of them until it"
                            + " completes: request the same locks each time, or acquire all of them before it begins");
                }
                Hold hold = scope.apply(one).hold();
                hold.ensureValidFor(Duration.ZERO);
                return one;
            }
        }
        return null;
    }

    @Override
    public String toString() {
        return names.toString();
    }
}
