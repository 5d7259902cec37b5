package io.leasehold.benchmarks.report;

import java.util.Arrays;
import java.util.Collection;

/** The median and bounds of a number over several windows. */
record Summary(double median, double least, double most) {

    static Summary of(Collection<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        if (sorted.length == 0) {
            throw new IllegalArgumentException("nothing to sum up");
        }
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Summary(median, sorted[0], sorted[sorted.length - 1]);
    }
}
