package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests each real Valkey of this machine, 8.0 or newer, on each topology. */
@Tag("full")
@ParameterizedClass
@MethodSource("servers")
@Timeout(180)
final class ValkeyTest {

    @Parameter
    private RedisBinary valkey;

    static List<RedisBinary> servers() {
        return Valkeys.atLeast(8, 0);
    }

    private RedisServer.Builder on(RedisServer.Builder builder) {
        return builder.binary(valkey);
    }

    /** Locks with two clients, one after the other; the second one waits. */
    private static void locks(String uri) throws Exception {
        try (LockClient one = Leasehold.connect(uri);
                LockClient other = Leasehold.connect(uri)) {
            for (int i = 0; i < 20; i++) {
                Lease first = one.named("order:" + i).acquire();
                CompletableFuture<Lease> second = other.named("order:" + i).acquireAsync();
                first.close();
                try (Lease next = second.get(60, TimeUnit.SECONDS)) {
                    assertThat(next.fencingToken()).isGreaterThan(first.fencingToken());
                }
            }
        }
    }

    @Test
    void aSingleServer() throws Exception {
        try (RedisServer server = RedisUnderTest.start(b -> on(b).durable())) {
            locks(server.uri());
            try (LockClient client = Leasehold.connect(server.uri())) {
                assertThat(client.guarantees().exclusion()).isEqualTo(io.leasehold.Guarantee.Exclusion.WITHIN_DRIFT);
            }
        }
    }

    @Test
    void aCluster() throws Exception {
        try (RedisCluster cluster = Groups.cluster(0, this::on)) {
            locks(cluster.uri());
            assertThatThrownBy(() -> Leasehold.connect(cluster.nodes().get(0).uri()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis-cluster://");
        }
    }

    @Test
    void aSingleServerIsNoCluster() {
        try (RedisServer server = RedisUnderTest.start(this::on)) {
            assertThatThrownBy(() -> Leasehold.connect(server.uri().replace("redis://", "redis-cluster://")))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("cluster-enabled no");
        }
    }

    @Test
    void aSentinelGroup() throws Exception {
        try (RedisSentinelGroup group = Groups.sentinel(1, this::on)) {
            locks(group.uri());
            assertThatThrownBy(() -> Leasehold.connect(
                            "redis://127.0.0.1:" + group.sentinels().get(0).port()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis-sentinel://");
        }
    }
}
