package io.leasehold.benchmarks.measure;

import java.lang.management.ManagementFactory;

/** The allocation of all threads of this JVM, including ended and virtual ones. */
final class ProcessAllocation {

    private ProcessAllocation() {}

    /**
     * The bytes since the JVM started; NaN if the JVM does not count them (it does since 21, and in later updates of
     * 17).
     */
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
