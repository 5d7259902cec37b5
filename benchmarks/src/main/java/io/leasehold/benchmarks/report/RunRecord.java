package io.leasehold.benchmarks.report;

import io.leasehold.benchmarks.measure.Sample;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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
}
