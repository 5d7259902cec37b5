package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.measure.Sample;
import java.util.function.Consumer;

/** One thing that people do with locks, done by every peer in adjacent windows. */
public interface Workload {

    /** The id that chooses it on the command line. */
    String id();

    /** Its purpose, in one line. */
    String title();

    /** Whether its variants are to be read together, in one table. */
    default boolean isSeries() {
        return false;
    }

    /** Measures, on servers of its own, and hands over each window as it ends. */
    void run(Plan plan, Consumer<Sample> samples) throws InterruptedException;
}
