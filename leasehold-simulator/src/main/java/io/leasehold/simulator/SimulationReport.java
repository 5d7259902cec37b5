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
 * @param runs how many
 * @param simulated the time that passed in their worlds, together
 * @param eventsRun the steps of their worlds
 * @param faults how often each fault really happened
 * @param events how often the engine told of what
 * @param failed the runs in which a promise was broken
 */
public record SimulationReport(
        long runs,
        Duration simulated,
        long eventsRun,
        Map<Fault, Long> faults,
        Map<String, Long> events,
        List<SimulationResult> failed) {

    /** Copies. */
    public SimulationReport {
        faults = Map.copyOf(faults);
        events = Map.copyOf(events);
        failed = List.copyOf(failed);
    }

    /** Kinds of fault that did not happen in any run: over some hundred runs there are none. */
    public List<Fault> neverHappened() {
        return Arrays.stream(Fault.values())
                .filter(fault -> !faults.containsKey(fault))
                .toList();
    }

    /** Adds up runs. */
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
