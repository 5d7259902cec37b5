package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Counts what all threads of a client allocate for an acquire and a release. */
@Tag("quick")
@Timeout(120)
final class PairAllocationTest {

    private static final int WARM_UP = 4_000;
    private static final int PAIRS = 2_000;

    /** Compiled code allocates 7.8 kB; how much of it is compiled by now differs. */
    private static final long MOST_BYTES = 11_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static long allocated() {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }

    private static void pairs(DistributedLock lock, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            lock.acquire().close();
        }
    }

    @Test
    void aPairAllocatesLittle() throws InterruptedException {
        try (LockClient client = Leasehold.connect(SERVER.server().uri())) {
            DistributedLock lock = client.named("pair");
            try (Lease held = client.named("held").acquire()) {
                pairs(lock, WARM_UP);
                long before = allocated();
                pairs(lock, PAIRS);
                assertThat((allocated() - before) / PAIRS).isLessThan(MOST_BYTES);
                assertThat(held.isValid()).isTrue();
            }
        }
    }
}
