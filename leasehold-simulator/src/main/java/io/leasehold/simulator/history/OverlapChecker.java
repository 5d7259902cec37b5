package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.List;

/**
 * Checks that no two holders are inside their validity at once.
 *
 * <p>A holder is inside from the moment at which it received its lease until the last end that it knew, or until it
 * released the lease before that.
 */
public final class OverlapChecker {

    private OverlapChecker() {}

    /** Each lease that began inside another one's validity, once. */
    public static List<Violation> check(History history) {
        List<Violation> violations = new ArrayList<>();
        history.spansByLock().forEach((lock, spans) -> {
            LeaseSpan longest = spans.get(0);
            for (LeaseSpan span : spans.subList(1, spans.size())) {
                if (span.fromAtNanos() < longest.untilAtNanos() && span.wasBelievedIn()) {
                    long shared = Math.min(span.untilAtNanos(), longest.untilAtNanos()) - span.fromAtNanos();
                    violations.add(
                            new Violation(lock, "held twice for " + shared / 1_000 + " µs: " + longest + "; " + span));
                }
                if (span.untilAtNanos() > longest.untilAtNanos()) {
                    longest = span;
                }
            }
        });
        return violations;
    }
}
