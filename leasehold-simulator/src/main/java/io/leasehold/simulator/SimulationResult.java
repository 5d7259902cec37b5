package io.leasehold.simulator;

import io.leasehold.simulator.history.History;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The result of one run.
 *
 * @param plan the plan that was run
 * @param problems what must not have happened, in words that begin with its kind; empty if nothing did
 * @param faults how often each fault really happened
 * @param events how often the engine told of what
 * @param history the beliefs and acts of holders
 * @param simulated the time that passed in the world
 * @param eventsRun the steps of the world
 * @param traceHash the same for the same plan
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

    /** Copies. */
    public SimulationResult {
        problems = List.copyOf(problems);
        faults = Map.copyOf(faults);
        events = Map.copyOf(events);
    }

    /** Whether anything went wrong. */
    public boolean failed() {
        return !problems.isEmpty();
    }

    /** The kind of promise that was broken first: {@code overlap}, {@code token}, {@code zombie} … */
    public String kind() {
        String first = problems.isEmpty() ? "" : problems.get(0);
        int colon = first.indexOf(':');
        return colon < 0 ? first : first.substring(0, colon);
    }
}
