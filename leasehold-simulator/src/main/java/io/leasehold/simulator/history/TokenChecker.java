package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * Checks that the fencing tokens of a lock strictly increase over successive leases, and are never equal.
 *
 * <p>If a holder never believed in its lease, because it was paused between the grant and its first check, the lease
 * follows no other: it was granted earlier than it was recorded.
 */
public final class TokenChecker {

    private TokenChecker() {}

    /** The leases whose token is not larger than that of a lease that had ended before, or equals another one's. */
    public static List<Violation> check(History history) {
        List<Violation> violations = new ArrayList<>();
        history.spansByLock().forEach((lock, spans) -> check(lock, spans, violations));
        return violations;
    }

    private static void check(String lock, List<LeaseSpan> spans, List<Violation> violations) {
        PriorityQueue<LeaseSpan> running = new PriorityQueue<>(Comparator.comparingLong(LeaseSpan::untilAtNanos));
        Map<Long, LeaseSpan> byToken = new HashMap<>();
        @Nullable LeaseSpan largest = null;
        for (LeaseSpan span : spans) {
            for (LeaseSpan next; (next = running.peek()) != null && next.untilAtNanos() <= span.fromAtNanos(); ) {
                running.remove();
                if (largest == null || next.token() > largest.token()) {
                    largest = next;
                }
            }
            LeaseSpan equal = byToken.putIfAbsent(span.token(), span);
            if (equal != null) {
                violations.add(new Violation(lock, "one token twice: " + equal + "; " + span));
            } else if (largest != null && span.wasBelievedIn() && span.token() < largest.token()) {
                violations.add(new Violation(lock, "the token went down: " + largest + "; then " + span));
            }
            running.add(span);
        }
    }
}
