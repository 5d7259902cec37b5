package io.leasehold.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of the memory that an acquire and release allocate without a listener, with one that does nothing, and with
 * meters.
 */
@Tag("full")
class CostTest {

    private static final int CYCLES = 250;
    private static final int ROUNDS = 15;

    /** The tolerated noise: the compiler, timers. */
    private static final long NOISE_BYTES = 64;

    private static long allocatedByAll() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds()))
                .filter(bytes -> bytes > 0)
                .sum();
    }

    /** Bytes for one acquire and release. */
    private static long bytes(LockClient locks) throws InterruptedException {
        long before = allocatedByAll();
        for (int i = 0; i < CYCLES; i++) {
            locks.named("cost").acquire().close();
        }
        return (allocatedByAll() - before) / CYCLES;
    }

    /** Compares the least of many alternating rounds: other work of the process adds to some of them. */
    @Test
    void withoutMetersNothingIsMadeForThem() throws InterruptedException {
        long without = Long.MAX_VALUE;
        long idle = Long.MAX_VALUE;
        long metered = Long.MAX_VALUE;
        try (LockClient plain = Leasehold.connect("memory:");
                LockClient listening = connect(new LockListener() {});
                LockClient measured = connect(LockMetrics.of(new SimpleMeterRegistry()))) {
            for (int round = 0; round < ROUNDS; round++) {
                without = Math.min(without, bytes(plain));
                idle = Math.min(idle, bytes(listening));
                metered = Math.min(metered, bytes(measured));
            }
        }
        System.out.printf(
                "bytes for an acquire and release in memory: %d without a listener, %d with one that does nothing, %d with"
                        + " meters%n",
                without, idle, metered);
        assertThat(without).as("events are made only for somebody").isLessThan(idle + NOISE_BYTES);
        assertThat(without).isLessThan(metered + NOISE_BYTES);
    }

    private static LockClient connect(LockListener listener) {
        return Leasehold.builder().store("memory:").listener(listener).connect();
    }
}
