package io.leasehold.spi.method;

import io.leasehold.Hold;
import io.leasehold.LockName;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The locks that a call asks for. At another client the same name is another lock.
 *
 * @param holderId the public id of the client, whatever proxy of it the method has
 * @param names the locks
 * @param several whether they are taken as several, though there may be one
 */
public record AskedLocks(String holderId, List<LockName> names, boolean several) {

    /** Whether a lock is among both. */
    public boolean overlap(AskedLocks others) {
        return holderId.equals(others.holderId) && !Collections.disjoint(names, others.names);
    }

    /** Whether one lease is as good as the other. */
    public boolean areSameAs(AskedLocks others) {
        return holderId.equals(others.holderId)
                && several == others.several
                && Set.copyOf(names).equals(Set.copyOf(others.names));
    }

    /**
     * Of what a transaction of the caller keeps, that with just these locks: an earlier call in it has taken them.
     *
     * @param scope the body that it was acquired for
     * @throws IllegalStateException if some of these are kept with others, or without the rest
     * @throws io.leasehold.LeaseLostException if it has been lost since
     */
    public <K> @Nullable K keptAmong(Collection<K> kept, Function<? super K, LeaseScope> scope) {
        for (K one : kept) {
            AskedLocks locks = scope.apply(one).locks();
            if (locks.overlap(this)) {
                if (!locks.areSameAs(this)) {
                    throw new IllegalStateException("the locks " + this
                            + " are asked for inside a transaction of the caller that already holds some of them, until it"
                            + " has completed: ask for the same ones each time, or take all of them before it begins");
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
