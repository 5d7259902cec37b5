package io.leasehold.simulator;

import io.leasehold.simulator.history.History;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The result of one run.
 *
 * @param plan the plan that was run
 * @param problems the violations as text that begins with the kind; empty if there were none
 * @param faults how often each fault happened
 * @param events how often the engine reported each event
 * @param history the beliefs and acts of holders
 * @param simulated the time that passed in the world
 * @param eventsRun the number of steps of the world
 * @param traceHash equal for equal plans
 */
public record SimulationResult(
        SimulationPlan plan,
        List<String> problems,
        Map<Fault, Long> faults,
        Map<String, Long> events,
        History history,
        Duration simulated,
        long eventsRun,
        long traceHash) {

    /** Copies the collections. */
    public SimulationResult {
        problems = List.copyOf(problems);
        faults = Map.copyOf(faults);
        events = Map.copyOf(events);
    }

    /** Whether any guarantee was broken. */
    public boolean failed() {
        return !problems.isEmpty();
    }

    /** The kind of the first broken guarantee: {@code overlap}, {@code token}, {@code zombie} … */
    public String kind() {
        String first = problems.isEmpty() ? "" : problems.get(0);
        int colon = first.indexOf(':');
        return colon < 0 ? first : first.substring(0, colon);
    }
}
