package io.leasehold.jedis;

import io.leasehold.node.LockNode;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.HandOverTck;
import io.leasehold.testkit.tck.LockNodeTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A master that Sentinels announce passes the TCK over Jedis. */
@Tag("full")
class JedisSentinelTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisSentinelGroup group;

    private final StoreFixture fixture = new StoreFixture() {
        @Override
        public String name() {
            return "jedis-sentinel";
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

    /** The settings by which the master is found. */
    JedisStore store() {
        return JedisStore.at(group.uri());
    }

    @BeforeAll
    static void start() {
        group = Servers.orSkip(() -> RedisSentinelGroup.start(1));
    }

    static RedisSentinelGroup group() {
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
