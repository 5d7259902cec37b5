package io.leasehold.redis;

import io.leasehold.node.LockNode;
import io.leasehold.servers.RedisCluster;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.HandOverTck;
import io.leasehold.testkit.tck.LockNodeTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A Cluster of three masters passes the TCK. */
@Tag("full")
class RedisClusterTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisCluster group;

    private final StoreFixture fixture = new StoreFixture() {
        @Override
        public String name() {
            return "redis-cluster";
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

    /** The store of the Cluster. */
    RedisStore store() {
        return RedisStore.at(group.uri());
    }

    @BeforeAll
    static void start() {
        group = Groups.cluster(0, node -> node);
    }

    static RedisCluster group() {
        return group;
    }

    @AfterAll
    static void stop() {
        if (group != null) {
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
