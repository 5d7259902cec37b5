package io.leasehold.benchmarks.report;

import io.leasehold.benchmarks.measure.Sample;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A whole run, as it stands in the JSON file.
 *
 * @param conditions what was measured, with which versions, on what
 * @param samples every window
 */
public record RunRecord(Map<String, String> conditions, List<Sample> samples) {

    /** Keeps copies, in order. */
    public RunRecord {
        conditions = Collections.unmodifiableMap(new LinkedHashMap<>(conditions));
        samples = List.copyOf(samples);
    }

    /** Several runs as one: what was measured in the first comes first, and conditions that differ stand side by side. */
    public static RunRecord together(List<RunRecord> runs) {
        Map<String, Set<String>> told = new LinkedHashMap<>();
        List<Sample> samples = new ArrayList<>();
        for (RunRecord run : runs) {
            run.conditions.forEach((what, value) ->
                    told.computeIfAbsent(what, missing -> new LinkedHashSet<>()).add(value));
            samples.addAll(run.samples);
        }
        Map<String, String> conditions = new LinkedHashMap<>();
        told.forEach((what, values) -> conditions.put(what, String.join("; ", values)));
        return new RunRecord(conditions, samples);
    }
}
