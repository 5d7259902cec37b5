package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.node.LockNode;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerVersion;
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
import org.junit.jupiter.api.Test;

/** Tests that the oldest supported server, Redis 6.2, passes the TCK with the documented rights. */
@Tag("full")
final class RedisTckOnOldestServerTest implements BackendTck, LockNodeTck, HandOverTck {

    private static RedisServer server;
    private static String uri;

    private static final StoreFixture FIXTURE = new StoreFixture() {
        @Override
        public String name() {
            return "redis " + server.version();
        }

        @Override
        public LockStore open(LockRuntime runtime) {
            return new RedisStoreProvider().open(StoreUri.parse(uri), runtime);
        }

        @Override
        public String uriForOtherProcesses() {
            return uri;
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
        server = RedisUnderTest.start(b -> b.binary(BundledBinaries.oldestServer())
                .durable()
                .user("app", "on >secret resetchannels " + RedisErrors.RIGHTS + " " + RedisErrors.RIGHTS_OF_PERMITS));
        uri = "redis://app:secret@127.0.0.1:" + server.port();
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
        return RedisStore.at(uri).openNode(runtime);
    }

    @Test
    void itIsThatOld() {
        assertThat(server.version()).isLessThan(new ServerVersion(7, 0, 0));
        assertThat(server.version().isAtLeast(6, 2)).isTrue();
    }
}
