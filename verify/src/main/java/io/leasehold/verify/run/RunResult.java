package io.leasehold.verify.run;

import io.leasehold.simulator.history.History;
import java.util.List;
import java.util.Map;

/**
 * The result of a run.
 *
 * @param problems the violations, as text that begins with the kind
 * @param faults the number of each fault
 * @param events the number of each event
 * @param traceHash a hash of all events, in their order
 */
public record RunResult(
        List<String> problems, Map<String, Long> faults, Map<String, Long> events, History history, long traceHash) {

    String kind() {
        return problems.isEmpty() ? "" : problems.get(0).replaceAll(":.*", "");
    }
}
