package io.leasehold.verify.chaos;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The number of effective faults of each kind, not of the requested ones. For one thread. */
final class FaultCounts {

    private final Map<String, Long> seen = new TreeMap<>();

    void saw(String fault) {
        saw(fault, 1);
    }

    void saw(String fault, long times) {
        if (times > 0) {
            seen.merge(fault, times, Long::sum);
        }
    }

    boolean isEmpty() {
        return seen.isEmpty();
    }

    @Override
    public String toString() {
        return seen.entrySet().stream()
                .map(e -> e.getKey() + " " + e.getValue())
                .collect(Collectors.joining(", "));
    }
}
