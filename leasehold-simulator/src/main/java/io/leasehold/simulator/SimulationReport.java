package io.leasehold.simulator;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The result of many runs.
 *
 * @param runs the number of runs
 * @param simulated the total time that passed in their worlds
 * @param eventsRun the steps of their worlds
 * @param faults how often each fault happened
 * @param events how often the engine reported each event
 * @param failed the runs in which a guarantee was broken
 */
public record SimulationReport(
        long runs,
        Duration simulated,
        long eventsRun,
        Map<Fault, Long> faults,
        Map<String, Long> events,
        List<SimulationResult> failed) {

    /** Copies the collections. */
    public SimulationReport {
        faults = Map.copyOf(faults);
        events = Map.copyOf(events);
        failed = List.copyOf(failed);
    }

    /** The kinds of fault that did not happen in any run: over some hundred runs there should be none. */
    public List<Fault> neverHappened() {
        return Arrays.stream(Fault.values())
                .filter(fault -> !faults.containsKey(fault))
                .toList();
    }

    /** Adds the results of runs. */
    static final class Sum {
        private long runs;
        private Duration simulated = Duration.ZERO;
        private long eventsRun;
        private final Map<Fault, Long> faults = new EnumMap<>(Fault.class);
        private final Map<String, Long> events = new TreeMap<>();
        private final List<SimulationResult> failed = new ArrayList<>();

        void add(SimulationResult result) {
            runs++;
            simulated = simulated.plus(result.simulated());
            eventsRun += result.eventsRun();
            result.faults().forEach((fault, times) -> faults.merge(fault, times, Long::sum));
            result.events().forEach((event, times) -> events.merge(event, times, Long::sum));
            if (result.failed()) {
                failed.add(result);
            }
        }

        int failures() {
            return failed.size();
        }

        SimulationReport report() {
            return new SimulationReport(runs, simulated, eventsRun, faults, events, failed);
        }
    }
}
