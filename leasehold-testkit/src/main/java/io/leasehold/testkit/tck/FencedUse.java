package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import java.util.List;

/**
 * One of several concurrent uses of a fenced resource.
 *
 * @param token the token of the lease
 * @param access the kind of the lease
 * @param began the moment before the admission
 * @param ended the moment after it
 * @param admission the answer
 */
record FencedUse(long token, Access access, long began, long ended, Admission admission) {

    /** Requires that the answer is right in some order of these uses. */
    void requireReason(List<FencedUse> all) {
        if (admission instanceof Admission.Rejected rejected) {
            assertTrue(
                    all.stream().anyMatch(other -> other.token == rejected.newest() && other.excludes(this)),
                    () -> "no use is the reason for " + this);
        } else {
            all.forEach(other ->
                    assertTrue(!(other.excludes(this) && other.ended < began), () -> other + " had excluded " + this));
        }
    }

    /** Whether this use may come before that one, and then refuses it. */
    private boolean excludes(FencedUse other) {
        boolean isConflict = access == Access.WRITE || other.access == Access.WRITE;
        return admission.isAdmitted() && token > other.token && isConflict && began < other.ended;
    }
}
