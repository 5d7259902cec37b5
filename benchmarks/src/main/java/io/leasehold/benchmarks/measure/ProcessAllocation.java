package io.leasehold.benchmarks.measure;

import java.lang.management.ManagementFactory;

/** What all threads of this JVM allocate, those that have ended and virtual ones included. */
final class ProcessAllocation {

    private ProcessAllocation() {}

    /** Bytes since the JVM started; NaN where the JVM does not count them: it does since 21, and in later updates of 17. */
    static double bytes() {
        try {
            Class<?> counted = Class.forName("com.sun.management.ThreadMXBean");
            Object threads = ManagementFactory.getThreadMXBean();
            return ((Number) counted.getMethod("getTotalThreadAllocatedBytes").invoke(threads)).doubleValue();
        } catch (ReflectiveOperationException e) {
            return Double.NaN;
        }
    }
}
