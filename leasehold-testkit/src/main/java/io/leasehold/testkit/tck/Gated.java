package io.leasehold.testkit.tck;

import java.util.Map;
import java.util.TreeMap;

/** Which tests of one class were gated, and why; its methods are synchronized. */
final class Gated {
    private final Map<String, String> reasons = new TreeMap<>();
    private String backend = "";

    synchronized void add(String fixture, String test, String reason) {
        backend = fixture;
        reasons.put(test, reason);
    }

    synchronized String line() {
        return "TCK " + backend + ": gated: "
                + String.join(
                        ", ",
                        reasons.entrySet().stream()
                                .map(e -> e.getKey() + " (" + e.getValue() + ")")
                                .toList());
    }

    synchronized boolean isEmpty() {
        return reasons.isEmpty();
    }
}
