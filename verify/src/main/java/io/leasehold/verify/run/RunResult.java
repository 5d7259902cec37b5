package io.leasehold.verify.run;

import io.leasehold.simulator.history.History;
import java.util.List;
import java.util.Map;

/**
 * The result of a run.
 *
 * @param problems what must not have happened, in words that begin with its kind
 * @param faults the number of each fault
 * @param events the number of each event
 * @param traceHash a hash of all that happened, in its order
 */
public record RunResult(
        List<String> problems, Map<String, Long> faults, Map<String, Long> events, History history, long traceHash) {

    String kind() {
        return problems.isEmpty() ? "" : problems.get(0).replaceAll(":.*", "");
    }
}
