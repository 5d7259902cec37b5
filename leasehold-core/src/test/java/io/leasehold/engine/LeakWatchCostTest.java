package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The memory and the time that the watch for dropped leases adds to each lease; the time is printed, not asserted. */
@Tag("quick")
final class LeakWatchCostTest {

    private static final int LEASES = 200_000;

    private final Workshop workshop = new Workshop(new StillRuntime(), new SilentStore());
    private final LeaseHandle handle =
            workshop.keeper().begin(workshop.context.suspensions().mark(), null);

    @Test
    void aWatchedLeaseCostsAtMostFortyBytes() {
        LeakWatch watch = new LeakWatch(false);
        long nanos = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long startedAtNanos = System.nanoTime();
            for (int i = 0; i < LEASES; i++) {
                watch.trace(handle, handle.state(), null);
            }
            nanos = Math.min(nanos, System.nanoTime() - startedAtNanos);
        }
        List<LeakWatch.Trace> kept = new ArrayList<>(LEASES);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(self);
        for (int i = 0; i < LEASES; i++) {
            kept.add(watch.trace(handle, handle.state(), null));
        }
        long bytes = (threads.getThreadAllocatedBytes(self) - before) / LEASES;

        System.out.println("leak watch: " + bytes + " bytes and " + nanos / LEASES + " ns per lease");
        assertThat(kept).hasSize(LEASES);
        assertThat(bytes).isBetween(1L, 40L);
    }
}
