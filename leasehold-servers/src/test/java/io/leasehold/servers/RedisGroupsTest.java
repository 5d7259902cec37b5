package io.leasehold.servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class RedisGroupsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @BeforeAll
    static void aServerIsAvailable() {
        try {
            RedisBinary.find();
        } catch (ServerUnavailableException e) {
            Assumptions.abort(e.getMessage());
        }
    }

    @Test
    void replicatesWhatThePrimaryIsTold() {
        try (RedisReplicated group = RedisReplicated.start(2, member -> member.password("secret"))) {
            group.primary().call("SET", "k", "v");
            for (RedisServer replica : group.replicas()) {
                replica.await(
                        "the write", PATIENCE, node -> node.call("GET", "k").equals("v"));
                assertThatThrownBy(() -> replica.call("SET", "k", "w")).hasMessageContaining("READONLY");
            }
            assertThat(group.uri())
                    .isEqualTo("redis-replicated://127.0.0.1:" + group.primary().port() + ",127.0.0.1:"
                            + group.replicas().get(0).port() + ",127.0.0.1:"
                            + group.replicas().get(1).port());
        }
    }

    @Test
    void failsOverWhenThePrimaryIsKilledAndTakesItBackAsReplica() {
        try (RedisSentinelGroup group = RedisSentinelGroup.start(1, member -> member.password("secret"))) {
            RedisServer former = group.primary();
            assertThat(former).isSameAs(group.servers().get(0));
            former.kill();
            RedisServer present = group.awaitPrimaryOtherThan(former);
            assertThat(present).isSameAs(group.servers().get(1));
            assertThat(present.call("SET", "k", "v")).isEqualTo("OK");
            former.restart();
            former.await("the return as a replica", PATIENCE, RedisReplicated::isLinked);
            assertThat(former.call("GET", "k")).isEqualTo("v");
            present.restart();
            assertThat(present.call("ROLE")).startsWith("master");
            assertThat(group.uri()).startsWith("redis-sentinel://127.0.0.1:").endsWith("/mymaster");
        }
    }

    @Test
    void sharesTheSlotsOfAClusterAndReplacesADeadMaster() {
        try (RedisCluster cluster = RedisCluster.start(3, 1, node -> node)) {
            int slot = Integer.parseInt(cluster.nodes().get(0).call("CLUSTER", "KEYSLOT", "k"));
            RedisServer master = cluster.masterOf(slot);
            assertThat(master.call("SET", "k", "v")).isEqualTo("OK");
            List<RedisServer> masters = cluster.nodes().subList(0, 3);
            for (RedisServer other : masters) {
                if (other != master) {
                    assertThatThrownBy(() -> other.call("GET", "k")).hasMessageContaining("MOVED " + slot);
                }
            }
            RedisServer replica = cluster.nodes().get(3 + masters.indexOf(master));
            // Not WAIT, which speaks of the writes of its own connection.
            replica.await("the write", PATIENCE, node -> node.call("DBSIZE").equals("1"));
            master.kill();
            replica.await(
                    "the role of the master",
                    PATIENCE,
                    node -> node.call("ROLE").startsWith("master"));
            replica.await(
                    "a healthy cluster",
                    PATIENCE,
                    node -> node.call("CLUSTER", "INFO").contains("cluster_state:ok"));
            assertThat(replica.call("GET", "k")).isEqualTo("v");
        }
    }

    @Test
    void refusesGroupsThatCannotBe() {
        assertThatThrownBy(() -> RedisReplicated.start(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> RedisCluster.start(2, 0, node -> node)).isInstanceOf(IllegalArgumentException.class);
    }
}
