package io.leasehold.simulator;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** The numbers of faults and events. For one thread. */
final class Counts {

    private final Map<Fault, Long> faults = new EnumMap<>(Fault.class);
    private final Map<String, Long> events = new HashMap<>();

    void saw(Fault fault) {
        saw(fault, 1);
    }

    void saw(Fault fault, long times) {
        if (times > 0) {
            faults.merge(fault, times, Long::sum);
        }
    }

    void saw(String event) {
        saw(event, 1);
    }

    void saw(String event, long times) {
        if (times > 0) {
            events.merge(event, times, Long::sum);
        }
    }

    Map<Fault, Long> faults() {
        return new EnumMap<>(faults);
    }

    Map<String, Long> events() {
        return new TreeMap<>(events);
    }
}
