package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a held lease keeps of the heap, its name and the caller's handle included. */
@Tag("quick")
final class HeldLeaseHeapTest {

    private static final int LEASES = 50_000;

    private final Workshop shop = new Workshop(new StillRuntime(), new SilentStore());

    private LeaseHandle lease(String name) {
        Grant grant = new Grant(
                OwnerToken.draw(shop.runtime), TokenRange.of(1, 1), shop.runtime.nanoTime(), Incarnation.DURABLE);
        return new HeldGrant(LockName.exactly(name), grant, 0, 1, shop.settings, shop.context, shop.queues)
                .begin(shop.context.suspensions().mark(), null);
    }

    @Test
    void aHeldLeaseKeepsLessThanFiveHundredBytes() {
        for (int i = 0; i < LEASES / 10; i++) {
            assertThat(lease("warm-" + i).releaseAsync()).isNotNull();
        }
        List<LeaseHandle> held = new ArrayList<>(LEASES);
        long before = live();
        for (int i = 0; i < LEASES; i++) {
            held.add(lease("a-lock-" + i));
        }
        long bytes = (live() - before) / LEASES;
        System.out.println("held lease: " + bytes + " bytes");
        assertThat(held).hasSize(LEASES);
        assertThat(bytes).isBetween(300L, 500L);
    }

    private static long live() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
