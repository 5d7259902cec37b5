package io.leasehold.zookeeper;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * The backend contract over a real server. Here, one session timeout serves all ttls and is longer than any of them,
 * because the contract renews with longer ttls than those of its acquires. Child processes use the timeouts that follow
 * from the ttl.
 */
@Tag("full")
class ZooKeeperTckTest implements BackendTck {

    private static TestingServer server;

    @BeforeAll
    static void start() {
        server = Ensemble.single();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "zookeeper";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                String uri = Ensemble.uri(server.getConnectString(), "&sessionTimeout=15m");
                return new ZooKeeperStoreProvider().open(StoreUri.parse(uri), runtime);
            }

            @Override
            public String uriForOtherProcesses() {
                return Ensemble.uri(server.getConnectString(), "");
            }

            @Override
            public boolean canRestart() {
                return true;
            }

            @Override
            public void restart() throws Exception {
                server.restart();
            }
        };
    }
}
