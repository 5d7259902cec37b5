package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One and then two of five nodes are sick, in each way there is: grants, renewals and releases go on, and wait for none. */
@Timeout(120)
final class RedlockMinorityTest {

    private static final long NODE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private enum Sickness {
        FROZEN {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.server(node).freeze();
            }
        },
        KILLED {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.server(node).kill();
            }
        },
        BLACK_HOLED {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.proxy(node).drop();
            }
        };

        abstract void strike(RedlockServers servers, int node);
    }

    @ParameterizedTest
    @EnumSource
    void oneAndThenTwo(Sickness sickness) throws Exception {
        try (RedlockServers servers = RedlockServers.start(5, "60s", "20s")) {
            servers.declareNew();
            try (LockClient locks = Leasehold.builder()
                    .store(servers.uriOverProxies())
                    .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(60)))
                    .connect()) {
                Lease before = locks.named("before").acquire();
                long last = before.fencingToken();
                for (int sick : new int[] {1, 3}) {
                    sickness.strike(servers, sick);
                    for (int i = 0; i < 5; i++) {
                        last = turn(locks, last);
                    }
                    long start = System.nanoTime();
                    before.renew();
                    assertThat(System.nanoTime() - start).as("a renewal").isLessThan(NODE_TIMEOUT_NANOS);
                    assertThat(before.isValid()).isTrue();
                }
                assertThat(before.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
    }

    private static long turn(LockClient locks, long last) throws InterruptedException {
        long start = System.nanoTime();
        Lease lease = locks.named("turn").acquire();
        assertThat(lease.fencingToken()).isGreaterThan(last);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(System.nanoTime() - start)
                .as("a turn that waited for a sick node")
                .isLessThan(NODE_TIMEOUT_NANOS);
        return lease.fencingToken();
    }
}
