package io.leasehold.redis;

import io.leasehold.node.LockNode;
import io.leasehold.servers.RedisSentinelGroup;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.HandOverTck;
import io.leasehold.testkit.tck.LockNodeTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** A master that Sentinels name passes the TCK. */
@Tag("full")
final class RedisSentinelTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisSentinelGroup group;

    private static final StoreFixture FIXTURE = new StoreFixture() {
        @Override
        public String name() {
            return "redis-sentinel";
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new RedisStoreProvider().open(StoreUri.parse(group.uri()), runtime);
        }

        @Override
        public String uriForOtherProcesses() {
            return group.uri();
        }
    };

    @BeforeAll
    static void start() {
        group = Groups.sentinel(1, member -> member);
    }

    @AfterAll
    static void stop() {
        if (group != null) {
            group.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return FIXTURE;
    }

    @Override
    public LockNode openNode(LockRuntime runtime) {
        return RedisStore.at(group.uri()).openNode(runtime);
    }
}
