package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.RedisBinary;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real Valkey, 8.0 or newer, on each topology: the path in LEASEHOLD_VALKEY_SERVER, or valkey-server on the PATH. */
@Tag("full")
@Timeout(180)
final class ValkeyTest {

    private static RedisBinary valkey;

    @BeforeAll
    static void find() {
        Path path = Stream.concat(
                        Stream.ofNullable(System.getenv("LEASEHOLD_VALKEY_SERVER"))
                                .map(Path::of),
                        Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                                .filter(directory -> !directory.isEmpty())
                                .map(directory -> Path.of(directory, "valkey-server")))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseGet(() -> abort("no Valkey here: install valkey-server (8.0 or newer), or name one in"
                        + " LEASEHOLD_VALKEY_SERVER"));
        try {
            valkey = RedisBinary.at(path);
        } catch (ServerUnavailableException e) {
            abort("no Valkey here: " + e.getMessage());
        }
        if (!valkey.version().isAtLeast(8, 0)) {
            abort(path + " is " + valkey.version() + "; Valkey 8.0 or newer is needed");
        }
    }

    private static RedisServer.Builder on(RedisServer.Builder builder) {
        return builder.binary(valkey);
    }

    /** Two clients, one after the other; the second one waits. */
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
        try (RedisCluster cluster = Groups.cluster(0, ValkeyTest::on)) {
            locks(cluster.uri());
            assertThatThrownBy(() -> Leasehold.connect(cluster.nodes().get(0).uri()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis-cluster://");
        }
    }

    @Test
    void aSingleServerIsNoCluster() {
        try (RedisServer server = RedisUnderTest.start(ValkeyTest::on)) {
            assertThatThrownBy(() -> Leasehold.connect(server.uri().replace("redis://", "redis-cluster://")))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("cluster-enabled no");
        }
    }

    @Test
    void aSentinelGroup() throws Exception {
        try (RedisSentinelGroup group = Groups.sentinel(1, ValkeyTest::on)) {
            locks(group.uri());
            assertThatThrownBy(() -> Leasehold.connect(
                            "redis://127.0.0.1:" + group.sentinels().get(0).port()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("redis-sentinel://");
        }
    }
}
