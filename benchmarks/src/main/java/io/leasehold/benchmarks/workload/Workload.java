package io.leasehold.benchmarks.workload;

import io.leasehold.benchmarks.measure.Sample;
import java.util.function.Consumer;

/** A typical use of locks, run by every peer in adjacent windows. */
public interface Workload {

    /** The id that selects it on the command line. */
    String id();

    /** Its purpose, in one line. */
    String title();

    /** Whether its variants share one table. */
    default boolean isSeries() {
        return false;
    }

    /** Measures on servers of its own, and delivers each window as it ends. */
    void run(Plan plan, Consumer<Sample> samples) throws InterruptedException;
}
