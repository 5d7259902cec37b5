package io.leasehold.redis;

import static io.leasehold.redis.TopologyBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.StoreAccessException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisReplicated;
import io.leasehold.servers.RedisSentinel;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a user with only the documented rights can perform all operations, on each topology. */
@Timeout(180)
@Tag("quick")
final class TopologyRightsTest {

    private static final String USER = "on >secret resetchannels ";

    /** Acquires, renews, waits, is woken, lists and releases by force. */
    private static void doesEverything(String uri, List<RedisServer> servers) throws InterruptedException {
        try (TopologyBench bench = new TopologyBench()) {
            LockClient client = bench.client(uri);
            LockClient other = bench.client(uri);
            for (String name : List.of("a", "b", "c", "d")) {
                Lease held = client.named(name).acquire();
                held.renew();
                CompletableFuture<Lease> waiting = other.named(name).acquireAsync();
                until(
                        "it waits",
                        () -> servers.stream()
                                .anyMatch(server ->
                                        server.call("KEYS", "*:queued").contains("{" + name + "}")));
                assertThat(client.admin().list("*", 10)).isNotEmpty();
                held.close();
                waiting.orTimeout(60, TimeUnit.SECONDS).join().close();
            }
            for (RedisServer server : servers) {
                assertThat(refusedObjects(server)).as("%s", server).isSubsetOf("client", "client|maint_notifications");
            }
        }
    }

    private static List<String> refusedObjects(RedisServer server) {
        List<String> lines = server.call("ACL", "LOG").lines().toList();
        return IntStream.range(1, lines.size())
                .filter(i -> lines.get(i - 1).equals("object"))
                .mapToObj(lines::get)
                .toList();
    }

    @Test
    void onACluster() throws InterruptedException {
        try (RedisCluster cluster =
                Groups.cluster(0, node -> node.user("app", USER + RedisErrors.RIGHTS + Deployment.RIGHTS_IN_CLUSTER))) {
            doesEverything(cluster.uri().replace("//", "//app:secret@"), cluster.nodes());
        }
    }

    @Test
    void onAReplicatedGroupWithAcknowledgements() throws InterruptedException {
        try (RedisReplicated group = Groups.orSkip(() ->
                RedisReplicated.start(1, member -> member.user("app", USER + RedisErrors.RIGHTS + " +wait")))) {
            doesEverything(
                    group.uri().replace("//", "//app:secret@") + "?waitReplicas=1&waitTimeout=5s",
                    List.of(group.primary()));
        }
    }

    @Test
    void atSentinelsThatAskForAPassword() throws InterruptedException {
        try (RedisSentinelGroup group = Groups.sentinel(1, member -> member.user("app", USER + RedisErrors.RIGHTS))) {
            for (RedisSentinel sentinel : group.sentinels()) {
                sentinel.call(
                        "ACL",
                        "SETUSER",
                        "watcher",
                        "on",
                        ">hunter2",
                        "resetchannels",
                        "&+switch-master",
                        "+sentinel|get-master-addr-by-name",
                        "+sentinel|master",
                        "+sentinel|masters",
                        "+subscribe",
                        "+ping");
                sentinel.call("ACL", "SETUSER", "nobody", "on", ">hunter2", "+ping");
            }
            String uri = group.uri().replace("//", "//app:secret@");
            doesEverything(uri + "?sentinelUser=watcher&sentinelPassword=hunter2", List.of(group.primary()));
            for (String wrong : List.of(
                    "sentinelUser=nobody&sentinelPassword=hunter2", "sentinelUser=watcher&sentinelPassword=hunter3")) {
                assertThatThrownBy(() -> {
                            try (TopologyBench bench = new TopologyBench()) {
                                bench.client(uri + "?" + wrong);
                            }
                        })
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("Sentinel 127.0.0.1:")
                        .hasMessageNotContaining("hunter");
            }
        }
    }

    @Test
    void aReplicaNamedAsMasterIsRefusedAndSoIsASecondMaster() {
        try (RedisReplicated group = Groups.replicated(1);
                RedisServer stranger = RedisUnderTest.start(b -> b);
                TopologyBench bench = new TopologyBench()) {
            int master = group.primary().port();
            int replica = group.replicas().get(0).port();
            assertThatThrownBy(() -> bench.client("redis-replicated://127.0.0.1:" + replica + ",127.0.0.1:" + master))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("127.0.0.1:" + replica + " is a replica")
                    .hasMessageContaining("127.0.0.1:" + master);
            assertThatThrownBy(() ->
                            bench.client("redis-replicated://127.0.0.1:" + master + ",127.0.0.1:" + stranger.port()))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("127.0.0.1:" + stranger.port())
                    .hasMessageContaining("is a master itself");
        }
    }

    @Test
    void theDocumentationListsTheseRights() throws IOException {
        String cluster = Files.readString(Path.of("..", "docs", "stores", "redis-cluster.md"))
                .replaceAll("\\s+", " ");
        assertThat(cluster).contains((RedisErrors.RIGHTS + Deployment.RIGHTS_IN_CLUSTER).replaceAll("\\s+", " "));
        assertThat(Files.readString(Path.of("..", "docs", "stores", "redis-sentinel.md"))
                        .replaceAll("\\s+", " "))
                .contains(
                        "&+switch-master +sentinel|get-master-addr-by-name +sentinel|master +sentinel|masters +subscribe +ping");
    }
}
