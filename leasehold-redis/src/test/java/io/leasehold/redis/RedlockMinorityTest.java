package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests of one and then two failing nodes of five, with each kind of fault: grants, renewals and releases continue and
 * do not wait for them.
 */
@Timeout(120)
@Tag("full")
final class RedlockMinorityTest {

    private static final long NODE_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private enum Sickness {
        FROZEN {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.server(node).freeze();
            }

            @Override
            void heal(RedlockServers servers, int node) {
                servers.server(node).thaw();
            }
        },
        KILLED {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.server(node).kill();
            }

            @Override
            void heal(RedlockServers servers, int node) {
                servers.server(node).restart();
            }
        },
        BLACK_HOLED {
            @Override
            void strike(RedlockServers servers, int node) {
                servers.proxy(node).drop();
            }

            @Override
            void heal(RedlockServers servers, int node) {
                servers.proxy(node).heal();
            }
        };

        abstract void strike(RedlockServers servers, int node);

        abstract void heal(RedlockServers servers, int node);
    }

    @ParameterizedTest
    @EnumSource
    void oneAndThenTwo(Sickness sickness) throws Exception {
        try (RedlockServers servers = RedlockServers.start(5, "100s", "20s")) {
            servers.declareNew();
            try (LockClient locks = Leasehold.builder()
                    .store(servers.uriOverProxies())
                    .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(100)))
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
                // A client that closes repeats its releases at the failing nodes for two time limits.
                sickness.heal(servers, 1);
                sickness.heal(servers, 3);
            }
        }
    }

    /** A release without a quorum leaves a hold. It is repeated at nodes that come back, long before the ttl ends. */
    @Test
    void aReleaseWithoutAQuorumIsUnconfirmedAndRepeated() throws Exception {
        try (RedlockServers servers = RedlockServers.start(5, "10m", "500ms")) {
            servers.declareNew();
            try (LockClient locks = Leasehold.builder()
                    .store(servers.uriOverProxies())
                    .defaults(LockOptions.defaults().ttl(Duration.ofMinutes(10)))
                    .connect()) {
                Lease lease = locks.named("unheard").acquire();
                NodeBench.until("all nodes have it", () -> keys(servers) == 5);
                for (int node = 0; node < 3; node++) {
                    servers.proxy(node).drop();
                }
                assertThat(lease.release()).isEqualTo(ReleaseOutcome.UNCONFIRMED);
                NodeBench.until("the others have deleted it", () -> keys(servers) == 3);
                for (int node = 0; node < 3; node++) {
                    servers.proxy(node).heal();
                }
                NodeBench.until("the release is repeated everywhere", () -> keys(servers) == 0);
            }
        }
    }

    private static long keys(RedlockServers servers) {
        return IntStream.range(0, servers.size())
                .filter(node -> !servers.server(node).call("KEYS", "lock:{*}").isBlank())
                .count();
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
