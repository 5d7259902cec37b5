package io.leasehold.jedis;

import io.leasehold.node.LockNode;
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
import redis.clients.jedis.RedisClient;

/** A durable Redis server passes the TCK over a Jedis client. */
@Tag("full")
final class JedisTckTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisServer server;
    private static RedisClient client;

    private static final StoreFixture FIXTURE = new StoreFixture() {
        @Override
        public String name() {
            return "jedis " + server.version();
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return JedisStore.over(client).open(runtime);
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
        server = Servers.orSkip(() -> RedisServer.builder().durable().start());
        client = RedisClient.create("127.0.0.1", server.port());
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            client.close();
            server.close();
        }
    }

    @Override
    public StoreFixture fixture() {
        return FIXTURE;
    }

    @Override
    public LockNode openNode(LockRuntime runtime) {
        return JedisStore.over(client).openNode(runtime);
    }
}
