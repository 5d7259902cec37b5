package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that a holder that only reads a protected resource always sees the same value: each write in between has a
 * larger token, after which the resource refuses the holder.
 */
public final class StableReadChecker {

    private StableReadChecker() {}

    private record Holder(String resource, long token) {}

    /**
     * The accepted reads that saw another value than an earlier one with the same token, of holders that wrote nothing.
     *
     * @param resources the beginning of the names of the resources that refuse stale tokens
     */
    public static List<Violation> check(History history, String resources) {
        Map<Holder, List<HistoryEvent.Accessed>> reads = new HashMap<>();
        for (HistoryEvent event : history.events()) {
            if (event instanceof HistoryEvent.Accessed access
                    && access.accepted()
                    && access.resource().startsWith(resources)) {
                reads.computeIfAbsent(new Holder(access.resource(), access.token()), h -> new ArrayList<>())
                        .add(access);
            }
        }
        List<Violation> violations = new ArrayList<>();
        reads.forEach((holder, accesses) -> {
            boolean onlyReads = accesses.stream().allMatch(one -> one.access() == HistoryEvent.Access.READ);
            if (onlyReads
                    && accesses.stream()
                                    .mapToLong(HistoryEvent.Accessed::value)
                                    .distinct()
                                    .count()
                            > 1) {
                violations.add(new Violation(
                        holder.resource(), "a reader with token " + holder.token() + " saw two values: " + accesses));
            }
        });
        return violations;
    }
}
