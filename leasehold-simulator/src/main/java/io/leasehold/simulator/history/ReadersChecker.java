package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks readers and writers of a lock against each other: no writer is inside its validity while a reader is, and of two
 * of different kinds that follow each other, the later has the larger token.
 *
 * <p>{@link OverlapChecker} and {@link TokenChecker} check writers against writers. Readers are not checked against
 * readers: they share the lock, and a later one may have a smaller token.
 */
public final class ReadersChecker {

    private ReadersChecker() {}

    /** The leases that began while one of the other kind was held, or have a token that is not above that of an earlier one. */
    public static List<Violation> check(History history) {
        List<Violation> violations = new ArrayList<>();
        Map<String, List<LeaseSpan>> spans = history.allSpansByLock();
        spans.forEach((lock, writers) -> {
            List<LeaseSpan> readers = spans.getOrDefault(LeaseText.read(lock), List.of());
            if (!readers.isEmpty()) {
                check(lock, writers, readers, violations);
            }
        });
        return violations;
    }

    private static void check(
            String lock, List<LeaseSpan> writers, List<LeaseSpan> readers, List<Violation> violations) {
        Earlier written = new Earlier();
        Earlier read = new Earlier();
        Stream.concat(writers.stream(), readers.stream())
                .filter(LeaseSpan::wasBelievedIn)
                .sorted(Comparator.comparingLong(LeaseSpan::fromAtNanos))
                .forEach(span -> {
                    boolean reads = LeaseText.isRead(span.lock());
                    (reads ? written : read).judge(lock, span, violations);
                    (reads ? read : written).running.add(span);
                });
    }

    /** The leases of one kind that have begun. */
    private static final class Earlier {
        private final PriorityQueue<LeaseSpan> running =
                new PriorityQueue<>(Comparator.comparingLong(LeaseSpan::untilAtNanos));
        /** The ended lease with the largest token. */
        private @Nullable LeaseSpan newest;

        void judge(String lock, LeaseSpan later, List<Violation> violations) {
            for (LeaseSpan next; (next = running.peek()) != null && next.untilAtNanos() <= later.fromAtNanos(); ) {
                running.remove();
                if (newest == null || next.token() > newest.token()) {
                    newest = next;
                }
            }
            LeaseSpan other = running.peek();
            if (other != null) {
                violations.add(new Violation(lock, "a reader and a writer at once: " + other + "; " + later));
            }
            if (newest != null && later.token() <= newest.token()) {
                violations.add(new Violation(lock, "the token went down: " + newest + "; then " + later));
            }
        }
    }
}
