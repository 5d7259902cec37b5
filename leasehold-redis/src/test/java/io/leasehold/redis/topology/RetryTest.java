package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that clients that lost the same server do not all reconnect at the same moment. */
@Tag("quick")
class RetryTest {

    @Test
    void delaysDoubleUpToABoundAndAreSpread() {
        try (Closing world = new Closing(new SystemLockRuntime())) {
            for (int failures = 0; failures < 40; failures++) {
                long full = TimeUnit.MILLISECONDS.toNanos(10) << Math.min(failures, 6);
                Set<Long> seen = new HashSet<>();
                for (int i = 0; i < 100; i++) {
                    long delay = Retry.delayNanos(failures, world.runtime());
                    assertThat(delay).isBetween(full / 2, full);
                    seen.add(delay);
                }
                assertThat(seen).hasSizeGreaterThan(90);
                assertThat(full).isLessThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(640));
            }
        }
    }

    private record Closing(LockRuntime runtime) implements AutoCloseable {
        @Override
        public void close() {
            runtime.close();
        }
    }
}
