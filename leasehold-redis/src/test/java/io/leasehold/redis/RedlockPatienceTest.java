package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the wait for the nodes of a set, and of its settings. */
@Tag("full")
class RedlockPatienceTest {

    /** The duration of an attempt with two of three nodes frozen. */
    private static long nanosOfAnAttempt(String setTimeout, UnaryOperator<LockOptions> change) throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "30s", setTimeout)) {
            servers.declareNew();
            try (LockClient locks = Leasehold.connect(servers.uri())) {
                DistributedLock lock = locks.named("frozen").with(change);
                // The clocks are known from here on.
                try (Lease lease = lock.tryAcquire(Duration.ofSeconds(20))) {
                    assertThat(lease).isNotNull();
                }
                servers.server(0).freeze();
                servers.server(1).freeze();
                try {
                    long beganAtNanos = System.nanoTime();
                    assertThatThrownBy(() -> lock.tryAcquire(Duration.ofNanos(1)))
                            .isInstanceOf(StoreUnavailableException.class);
                    return System.nanoTime() - beganAtNanos;
                } finally {
                    servers.server(0).thaw();
                    servers.server(1).thaw();
                }
            }
        }
    }

    @Test
    void aLongNodeTimeoutOfTheLockComesBeforeThatOfTheSet() throws Exception {
        long nanos = nanosOfAnAttempt("300ms", o -> o.nodeTimeout(Duration.ofMillis(1_500)));
        assertThat(Duration.ofNanos(nanos)).isGreaterThanOrEqualTo(Duration.ofMillis(1_500));
    }

    @Test
    void soDoesAShortOne() throws Exception {
        long nanos = nanosOfAnAttempt("7s", o -> o.nodeTimeout(Duration.ofMillis(500)));
        assertThat(Duration.ofNanos(nanos)).isLessThan(Duration.ofMillis(2_900));
    }

    @Test
    void oneRoundWithoutPatienceGetsTheTimeOfAnAnswer() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "30s", "20ms")) {
            servers.declareNew();
            try (LockClient locks = Leasehold.connect(servers.uriOverProxies())) {
                for (int node = 0; node < servers.size(); node++) {
                    servers.proxy(node).delay(Duration.ofMillis(150));
                }
                try (Lease lease = locks.named("slow").tryAcquire(Duration.ZERO)) {
                    assertThat(lease).isNotNull();
                }
            }
        }
    }

    @Test
    void theLargestTtlIsToldBeforehand() throws Exception {
        try (RedlockServers servers = RedlockServers.start(3, "10s")) {
            servers.declareNew();
            try (LockClient locks = Leasehold.connect(servers.uri())) {
                assertThat(locks.maxTtl()).isEqualTo(Duration.ofSeconds(10));
                DistributedLock delayed = locks.named("delayed")
                        .with(o -> o.ttl(Duration.ofSeconds(8)).lockDelay(Duration.ofSeconds(4)));
                assertThatThrownBy(() -> delayed.tryAcquire(Duration.ZERO))
                        .isInstanceOf(UnsafeStoreException.class)
                        .hasMessageContaining("lock delay of 4s")
                        .hasMessageContaining("10s");
            }
        }
    }
}
