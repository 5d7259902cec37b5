package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;

/** Failed-over masters and moved slots, over Jedis. */
@Timeout(180)
@Tag("full")
final class JedisFailOverTest {

    private static void obtainsSoon(LockClient locks, String name) {
        Servers.until(name + " can be had", () -> {
            try {
                Lease lease = locks.named(name).tryAcquire(Duration.ofSeconds(1));
                if (lease != null) {
                    lease.close();
                }
                return lease != null;
            } catch (LockStoreException | InterruptedException e) {
                return false;
            }
        });
    }

    private static LockClient over(JedisStore store) {
        return Leasehold.builder().store(store::open).connect();
    }

    @Test
    void aNewMasterIsFoundByOurQuestionsAndByThoseOfJedis() throws Exception {
        try (RedisSentinelGroup group = Servers.orSkip(() -> RedisSentinelGroup.start(1));
                RedisSentinelClient client = JedisSentinelClientTckTest.client(group);
                LockClient asking = over(JedisStore.at(group.uri()));
                LockClient told = over(JedisStore.over(client))) {
            obtainsSoon(asking, "free");
            obtainsSoon(told, "free");
            RedisServer former = group.primary();
            former.kill();
            RedisServer present = group.awaitPrimaryOtherThan(former);
            obtainsSoon(asking, "free");
            obtainsSoon(told, "free");
            assertThat(present.call("EXISTS", "lock:{free}:fence")).isEqualTo("1");
        }
    }

    /** A demoted master answers READONLY, and the store leaves it. */
    @Test
    void aMasterThatIsDemotedUnderUsIsLeft() throws Exception {
        try (RedisSentinelGroup group = Servers.orSkip(() -> RedisSentinelGroup.start(1));
                RedisSentinelClient client = JedisSentinelClientTckTest.client(group);
                LockClient told = over(JedisStore.over(client))) {
            obtainsSoon(told, "free");
            RedisServer former = group.primary();
            group.sentinels().get(0).call("SENTINEL", "FAILOVER", RedisSentinelGroup.MASTER_NAME);
            RedisServer present = group.awaitPrimaryOtherThan(former);
            Servers.until("it takes no writes", () -> former.call("ROLE").startsWith("slave"));
            obtainsSoon(told, "other");
            assertThat(present.call("EXISTS", "lock:{other}:fence")).isEqualTo("1");
        }
    }

    /** On a connection for replicas, a demoted master would answer, and redirect no client. */
    @Test
    void aClientThatReadsFromReplicasMakesConnectionsToMastersForLocks() throws Exception {
        try (RedisCluster cluster = Servers.orSkip(RedisCluster::start);
                RedisClusterClient client = RedisClusterClient.builder()
                        .nodes(Set.of(new HostAndPort(
                                "127.0.0.1", cluster.nodes().get(0).port())))
                        .clientConfig(DefaultJedisClientConfig.builder()
                                .readOnlyForRedisClusterReplicas()
                                .build())
                        .build()) {
            JedisDriver driver = new JedisDriver("the test", ClientSettings.of(client));
            try {
                RedisUri node = RedisUri.parse(StoreUri.parse(
                        "redis://127.0.0.1:" + cluster.nodes().get(0).port()));
                PlainCommand<Object> info = new PlainCommand<>("CLIENT", new String[] {"INFO"}, items -> items.get(0));
                assertThat(driver.connect(node)
                                .get(60, TimeUnit.SECONDS)
                                .ask(info)
                                .get(60, TimeUnit.SECONDS))
                        .asString()
                        .contains(" flags=N ");
            } finally {
                driver.close();
            }
        }
    }

    @Test
    void aSlotThatMovesTakesItsLocksAlong() throws Exception {
        try (RedisCluster cluster = Servers.orSkip(RedisCluster::start);
                RedisClusterClient client = RedisClusterClient.create(Set.of(
                        new HostAndPort("127.0.0.1", cluster.nodes().get(0).port())));
                LockClient locks = over(JedisStore.over(client));
                LockClient others = over(JedisStore.at(cluster.uri()))) {
            String slot = cluster.nodes()
                    .get(0)
                    .call("CLUSTER", "KEYSLOT", "lock:{held}")
                    .strip();
            RedisServer from = cluster.masterOf(Integer.parseInt(slot));
            RedisServer to = cluster.nodes().get(0) == from
                    ? cluster.nodes().get(1)
                    : cluster.nodes().get(0);
            try (Lease held = locks.named("held").acquire()) {
                to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", from.call("CLUSTER", "MYID"));
                from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", to.call("CLUSTER", "MYID"));
                from.call("CLUSTER", "GETKEYSINSLOT", slot, "1000")
                        .lines()
                        .filter(key -> !key.isEmpty())
                        .forEach(key -> from.call("MIGRATE", "127.0.0.1", "" + to.port(), key, "0", "10000"));
                // All keys are there, and only requests with ASKING are admitted.
                held.renew();
                to.call("CLUSTER", "SETSLOT", slot, "NODE", to.call("CLUSTER", "MYID"));
                from.call("CLUSTER", "SETSLOT", slot, "NODE", to.call("CLUSTER", "MYID"));
                held.renew();
                assertThat(held.isValid()).isTrue();
                Servers.isBusy(others, "held");
            }
            obtainsSoon(others, "held");
        }
    }

    @Test
    void aMasterOfAClusterIsReplaced() throws Exception {
        try (RedisCluster cluster = Servers.orSkip(() -> RedisCluster.start(3, 1, node -> node));
                RedisClusterClient client = RedisClusterClient.create(Set.of(
                        new HostAndPort("127.0.0.1", cluster.nodes().get(0).port())));
                LockClient locks = over(JedisStore.over(client));
                LockClient others = over(JedisStore.at(cluster.uri()))) {
            String slot = cluster.nodes()
                    .get(0)
                    .call("CLUSTER", "KEYSLOT", "lock:{free}")
                    .strip();
            obtainsSoon(locks, "free");
            cluster.masterOf(Integer.parseInt(slot)).kill();
            obtainsSoon(locks, "free");
            obtainsSoon(others, "free");
        }
    }
}
