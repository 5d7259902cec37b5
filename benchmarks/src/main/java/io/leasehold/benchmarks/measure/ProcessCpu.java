package io.leasehold.benchmarks.measure;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** The processor time of this JVM, including collector and compiler. */
public final class ProcessCpu {

    private ProcessCpu() {}

    /** The seconds since the JVM started, over all processors. */
    public static double seconds() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
    }
}
