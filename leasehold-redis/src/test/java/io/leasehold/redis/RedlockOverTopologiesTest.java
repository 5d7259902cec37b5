package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.SharedLock;
import io.leasehold.WriteLease;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests a Cluster as one node of a set: it has one vote, and a birth for each slot. */
@Timeout(180)
@Tag("full")
final class RedlockOverTopologiesTest {

    @Test
    void aClusterAndTwoServersAreASet() throws InterruptedException {
        try (RedisCluster cluster = Groups.cluster(0, node -> node);
                RedisServer one = RedisUnderTest.start(b -> b);
                RedisServer other = RedisUnderTest.start(b -> b)) {
            String uri = "redlock:?maxTtl=10s&nodeTimeout=2s&"
                    + List.of(cluster.uri(), one.uri(), other.uri()).stream()
                            .map(node -> "node=" + URLEncoder.encode(node, StandardCharsets.UTF_8))
                            .collect(Collectors.joining("&"));
            SystemLockRuntime runtime = new SystemLockRuntime();
            LockStore store = new RedlockStoreProvider().open(StoreUri.parse(uri), runtime);
            store.members()
                    .orElseThrow()
                    .declareNew(TimeUnit.SECONDS.toNanos(60))
                    .join();
            store.close();
            runtime.close();
            // Without the other server, the quorum needs the Cluster's vote.
            other.freeze();
            try (LockClient client = Leasehold.builder()
                    .store(uri)
                    .defaults(LockOptions.defaults().ttl(TopologyBench.TTL))
                    .connect()) {
                for (int i = 0; i < 12; i++) {
                    try (Lease lease = client.named("n:" + i)
                            .attempt(Duration.ofSeconds(30))
                            .orElseThrow()) {
                        assertThat(lease.isValid()).isTrue();
                    }
                }
                readersShare(client);
            } finally {
                other.thaw();
            }
        }
    }

    /** In several slots, with keys of its own for each. */
    private static void readersShare(LockClient client) throws InterruptedException {
        for (int i = 0; i < 4; i++) {
            SharedLock lock = client.readWrite("r:" + i);
            CompletableFuture<Lease> waiting;
            Lease reader;
            try (WriteLease writer = lock.write().acquire()) {
                waiting = lock.read().acquireAsync();
                reader = writer.downgrade();
            }
            reader.renew();
            waiting.orTimeout(60, TimeUnit.SECONDS).join().close();
            assertThat(lock.write().tryAcquire(Duration.ZERO)).isNull();
            reader.close();
            lock.write().acquire().close();
        }
    }
}
