package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.LockNode;
import io.leasehold.servers.RedisCluster;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.HandOverTck;
import io.leasehold.testkit.tck.LockNodeTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A Cluster passes the TCK over Jedis; its replicas receive no request about locks. */
@Tag("full")
class JedisClusterTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisCluster group;

    private final StoreFixture fixture = new StoreFixture() {
        @Override
        public String name() {
            return "jedis-cluster";
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return store().open(runtime);
        }

        @Override
        public String uriForOtherProcesses() {
            return group.uri();
        }
    };

    /** The settings with which the Cluster is connected. */
    JedisStore store() {
        return JedisStore.at(group.uri());
    }

    @BeforeAll
    static void start() {
        group = Servers.orSkip(() -> RedisCluster.start(3, 1, node -> node));
    }

    static RedisCluster group() {
        return group;
    }

    @AfterAll
    static void stop() {
        if (group == null) {
            return;
        }
        try {
            for (RedisServer replica : group.nodes().subList(3, 6)) {
                assertThat(replica.call("ROLE")).startsWith("slave");
                assertThat(replica.call("INFO", "commandstats"))
                        .as("what a replica was asked")
                        .doesNotContain(
                                "cmdstat_evalsha", "cmdstat_eval:", "cmdstat_readonly", "cmdstat_scan", "cmdstat_mget");
            }
        } finally {
            group.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return fixture;
    }

    @Override
    public LockNode openNode(LockRuntime runtime) {
        return store().openNode(runtime);
    }
}
