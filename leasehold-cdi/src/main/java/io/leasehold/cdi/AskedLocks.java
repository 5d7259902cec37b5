package io.leasehold.cdi;

import io.leasehold.LockName;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/**
 * The locks that a call asks for. At another client the same name is another lock.
 *
 * @param holderId the public id of the client, whatever proxy of it the method has
 * @param names the locks
 * @param several whether they are taken as several, though there may be one
 */
record AskedLocks(String holderId, List<LockName> names, boolean several) {

    boolean overlap(AskedLocks others) {
        return holderId.equals(others.holderId) && !Collections.disjoint(names, others.names);
    }

    /** Whether one lease is as good as the other. */
    boolean areSameAs(AskedLocks others) {
        return holderId.equals(others.holderId)
                && several == others.several
                && Set.copyOf(names).equals(Set.copyOf(others.names));
    }

    @Override
    public String toString() {
        return names.toString();
    }
}
