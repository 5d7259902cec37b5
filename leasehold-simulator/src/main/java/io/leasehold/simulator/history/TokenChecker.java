package io.leasehold.simulator.history;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Checks that the fencing tokens of a lock strictly increase over successive leases, and are never equal.
 *
 * <p>If a holder never believed in its lease, because it was paused between the grant and its first check, the lease
 * follows no other: it was granted earlier than it was recorded.
 *
 * <p>If an operator releases a lock by force while the answer to its holder is on its way, the next lease is granted
 * at once. It may end before the answer arrives. So the first lease is recorded after the second, although it was
 * granted before it.
 */
public final class TokenChecker {

    private TokenChecker() {}

    /**
     * The leases whose token is not larger than that of a lease that had ended before, or equals another one's.
     *
     * <p>Ignores releases by force.
     */
    public static List<Violation> check(History history) {
        List<Violation> violations = new ArrayList<>();
        history.spansByLock().forEach((lock, spans) -> check(lock, spans, List.of(), 0, violations));
        return violations;
    }

    /**
     * The same, except for leases that were released by force before their holders knew that they held.
     *
     * @param ttl not shorter than the ttl of any lease: none was requested earlier than this before its first end
     */
    public static List<Violation> check(History history, Duration ttl) {
        List<Violation> violations = new ArrayList<>();
        history.spansByLock()
                .forEach((lock, spans) -> check(lock, spans, history.forcedReleases(lock), ttl.toNanos(), violations));
        return violations;
    }

    private static void check(
            String lock, List<LeaseSpan> spans, List<Long> forced, long ttlNanos, List<Violation> violations) {
        PriorityQueue<LeaseSpan> running = new PriorityQueue<>(Comparator.comparingLong(LeaseSpan::untilAtNanos));
        Map<Long, LeaseSpan> byToken = new HashMap<>();
        List<LeaseSpan> ended = new ArrayList<>();
        long largest = Long.MIN_VALUE;
        for (LeaseSpan span : spans) {
            for (LeaseSpan next; (next = running.peek()) != null && next.untilAtNanos() <= span.fromAtNanos(); ) {
                running.remove();
                ended.add(next);
                largest = Math.max(largest, next.token());
            }
            LeaseSpan equal = byToken.putIfAbsent(span.token(), span);
            if (equal != null) {
                violations.add(new Violation(lock, "one token twice: " + equal + "; " + span));
            } else if (span.token() < largest && span.wasBelievedIn()) {
                long overtaken = firstForced(forced, span, ttlNanos);
                ended.stream()
                        .filter(before -> before.token() > span.token() && before.fromAtNanos() < overtaken)
                        .max(Comparator.comparingLong(LeaseSpan::token))
                        .ifPresent(before -> violations.add(
                                new Violation(lock, "the token went down: " + before + "; then " + span)));
            }
            running.add(span);
        }
    }

    /** The first release by force after this lease was requested; other leases may overtake its answer from then on. */
    private static long firstForced(List<Long> forced, LeaseSpan span, long ttlNanos) {
        long askedAtNanos = span.firstUntilAtNanos() - ttlNanos;
        return forced.stream().filter(at -> at - askedAtNanos >= 0).findFirst().orElse(Long.MAX_VALUE);
    }
}
