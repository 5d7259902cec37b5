package io.leasehold.redis;

import io.leasehold.node.LockNode;
import io.leasehold.servers.RedisServer;
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

/** Tests that a durable Redis server, which has the strongest guarantees, passes the TCK. */
@Tag("quick")
final class RedisTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisServer server;

    private static final StoreFixture FIXTURE = new StoreFixture() {
        @Override
        public String name() {
            return "redis " + server.version();
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new RedisStoreProvider().open(StoreUri.parse(server.uri()), runtime);
        }

        @Override
        public String uriForOtherProcesses() {
            return server.uri();
        }

        @Override
        public boolean canRestart() {
            return true;
        }

        @Override
        public void restart() {
            server.kill();
            server.restart();
        }
    };

    @BeforeAll
    static void start() {
        server = RedisUnderTest.start(RedisServer.Builder::durable);
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return FIXTURE;
    }

    @Override
    public LockNode openNode(LockRuntime runtime) {
        return RedisStore.at(server.uri()).openNode(runtime);
    }
}
