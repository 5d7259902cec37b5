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
 * A whole run, as stored in the JSON file.
 *
 * @param conditions the versions and the machine
 * @param samples every window
 */
public record RunRecord(Map<String, String> conditions, List<Sample> samples) {

    /** Keeps copies, in order. */
    public RunRecord {
        conditions = Collections.unmodifiableMap(new LinkedHashMap<>(conditions));
        samples = List.copyOf(samples);
    }

    /** Merges several runs: the measurements of the first come first, and differing conditions are listed together. */
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
