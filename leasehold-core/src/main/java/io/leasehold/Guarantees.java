package io.leasehold;

import java.util.Objects;

/**
 * The promises of one connected store, one level of each kind.
 *
 * @param exclusion whether two holders can be inside their validity at once
 * @param fencing how fencing tokens are ordered
 * @param queueing how waiting works
 * @param scope the processes and threads that exclude each other
 */
public record Guarantees(
        Guarantee.Exclusion exclusion, Guarantee.Fencing fencing, Guarantee.Queueing queueing, Guarantee.Scope scope) {

    /** Refuses nulls. */
    public Guarantees {
        Objects.requireNonNull(exclusion, "exclusion");
        Objects.requireNonNull(fencing, "fencing");
        Objects.requireNonNull(queueing, "queueing");
        Objects.requireNonNull(scope, "scope");
    }

    /** Whether this promises at least the given level of its kind. */
    public boolean covers(Guarantee level) {
        if (level instanceof Guarantee.Exclusion wanted) {
            return exclusion.compareTo(wanted) >= 0;
        } else if (level instanceof Guarantee.Fencing wanted) {
            return fencing.compareTo(wanted) >= 0;
        } else if (level instanceof Guarantee.Queueing wanted) {
            return queueing.compareTo(wanted) >= 0;
        }
        return scope.compareTo((Guarantee.Scope) level) >= 0;
    }

    /** Human-readable: {@code exclusion BY_STORE, fencing INCREASING, queueing FIFO, scope NETWORK}. */
    @Override
    public String toString() {
        return "exclusion " + exclusion + ", fencing " + fencing + ", queueing " + queueing + ", scope " + scope;
    }
}
