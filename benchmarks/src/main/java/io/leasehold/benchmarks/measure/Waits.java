package io.leasehold.benchmarks.measure;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** The common format of all histograms, so that they can be added: two digits from a microsecond to ten minutes. */
final class Waits {

    private static final long MIN_NANOS = 1_000;
    private static final int DIGITS = 2;

    private Waits() {}

    static Histogram empty() {
        return new Histogram(MIN_NANOS, TimeUnit.MINUTES.toNanos(10), DIGITS);
    }
}
